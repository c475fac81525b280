"""`ragq token`: who may use the API."""

from dataclasses import asdict
from datetime import timedelta

import click

from cli.drawing import Text, plain_table
from cli.output import draw, json_option, print_list, print_result, print_text
from cli.session import with_database
from store.access import api_tokens
from store.access.api_tokens import Scope


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def token() -> None:
    """Create, list and revoke the access tokens of the API and its pages.

    While there is no token, local access needs none. Once the first token exists, every request needs one.

    \b
    Example:
        TOKEN=$(ragq token create laptop)
        curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8420/runs
    """


@token.command()
@click.argument("name")
@click.option("--read-only", is_flag=True, help="A token that permits reading only.")
@click.option("--days", type=click.IntRange(1, 36500), help="Days until it expires.  [default: never]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the token as `secret`.")
def create(name: str, read_only: bool, days: int | None, as_json: bool) -> None:
    """Create a token and print it, once: only its hash is stored.

    From then on every request needs a token, also on loopback. NAME identifies the owner in lists.

    \b
    Example:
        TOKEN=$(ragq token create laptop --days 90)
    """
    scope = Scope.READ if read_only else Scope.WRITE
    lifetime = None if days is None else timedelta(days=days)
    made = with_database(lambda connection: api_tokens.create(connection, name, scope, lifetime=lifetime))
    print_result(asdict(made.stored) | {"secret": made.secret}, made.secret, as_json=as_json)
    until = "" if made.stored.expires_at is None else f", until {made.stored.expires_at:%Y-%m-%d %H:%M} UTC"
    print_text(
        f"Token {made.stored.id}, {name} ({scope}{until}). It is not shown again. "
        "From now on the API and its pages open for tokens alone, on loopback too.",
        err=True,
    )


@token.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(as_json: bool) -> None:
    """List every token that was ever created, the oldest first.

    \b
    Example:
        ragq token list
    """
    found = with_database(api_tokens.list_all)
    table = plain_table("id", "name", "scope", "state", "made", "expires", "last used")
    for stored in found:
        state = "live" if stored.is_live else "expired" if stored.revoked_at is None else "revoked"
        times = (stored.created_at, stored.expires_at, stored.used_at)
        shown = ["" if time is None else f"{time:%Y-%m-%d %H:%M}" for time in times]
        table.add_row(str(stored.id), Text(stored.name), stored.scope, state, *shown)
    none = "There is no token. `ragq token create NAME` makes one."
    print_list(found, table, none=none, as_json=as_json)


@token.command()
@click.argument("token", metavar="ID|NAME")
@json_option
def revoke(token: str, as_json: bool) -> None:
    """End a token at once, and every browser session that was opened with it.

    \b
    Example:
        ragq token revoke laptop
    """
    revoked = with_database(lambda connection: api_tokens.revoke(connection, token))
    still_closed = with_database(api_tokens.any_live)
    print_result(asdict(revoked), f"Revoked token {revoked.id}, {revoked.name}.", as_json=as_json)
    if not still_closed:
        draw("No live token is left: `ragq api` on loopback lets everybody of this machine in.", err=True)
