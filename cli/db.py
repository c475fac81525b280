"""`ragq db` and `ragq token`: the tables of the database, what is in them, and who may read it."""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path
from typing import Final

import asyncpg
import click

from cli.config import servers, unavailable, with_database
from cli.options import group
from cli.output import FittingTable, draw, json_option, print_json, print_list, print_result, print_text
from schemas.errors import StackError
from stack.servers import dump, revision_in
from stack.servers import restore as restore_tables
from stages.reports.tables import Moment
from stages.reports.words import counted
from store import access
from store import migrate as migrations
from store.access import Scope
from store.database import UNAVAILABLE_ERRORS, Connection
from store.runs import runs, workers

_WORKERS_SEEN_SECONDS: Final = 5.0
_UP_TO_DATE: Final = "The database is up to date."


@group()
def db() -> None:
    """Make the tables of the database, and write or read a backup of them.

    \b
    Example:
        ragq db backup ragq.dump
    """


@db.command()
@click.option("--sql", "as_sql", is_flag=True, help="Print the SQL that is missing, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: the revisions before and after.")
def migrate(as_sql: bool, as_json: bool) -> None:
    """Make or bring up to date every table in the database. Running it again changes nothing.

    `ragq up` does this by itself for the database it starts. Where another role makes tables, give it the output of
    --sql, and run `ragq db migrate` afterwards: it stores the presets and templates.

    \b
    Example:
        DATABASE_URL=postgresql://me:secret@db.example.org/ragq ragq db migrate
        ragq db migrate --sql > missing.sql
    """
    if as_sql and as_json:
        raise click.UsageError("--sql and --json exclude each other; give one of them.")
    url = servers().database_url
    try:
        if as_sql:
            if not migrations.sql(asyncio.run(_revision(url)), sys.stdout):
                print_text(_UP_TO_DATE, err=True)
            return
        before = asyncio.run(_revision(url))
        migrations.upgrade(url)
        after = asyncio.run(_revision(url))
    except UNAVAILABLE_ERRORS as error:
        raise unavailable(error) from error
    if as_json:
        print_json({"before": before, "after": after})
    print_text(_UP_TO_DATE, err=True)


async def _revision(database_url: str) -> str | None:
    connection = await asyncpg.connect(database_url)
    try:
        return await migrations.stored_revision(connection)
    finally:
        await connection.close()


_FILE = click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))


@db.command()
@_FILE
@json_option
def backup(path: Path, as_json: bool) -> None:
    """Write everything that is stored to a new file, while workers go on.

    The file has transcripts, questions, prompts and answers, and its owner alone may read it: keep it as you keep the
    data. Broker, ports and passwords of servers are not in it; nothing of them is needed.

    \b
    Example:
        ragq db backup ragq.dump
    """
    revision, found = with_database(_content)
    size = dump(servers().database_url, path)
    words = f"Wrote {size / 1e6:.1f} MB with {counted(found, 'run')} to {path}."
    print_result(_backup_json(path, revision, found), words, as_json=as_json)


@db.command()
@_FILE
@click.option("--replace", is_flag=True, help="Delete what is stored there.")
@json_option
def restore(path: Path, replace: bool, as_json: bool) -> None:
    """Fill an empty database from a file that `ragq db backup` wrote, also one of an older version.

    Stages that ran when it was written start again when workers are there.

    \b
    Example:
        ragq up --no-workers
        ragq db restore ragq.dump
        ragq up
    """
    written = revision_in(path)
    if not migrations.is_known_revision(written):
        raise StackError(
            f"{path} has tables of another version of ragq (revision {written}); nothing was changed. Restore it with "
            "that version."
        )
    with_database(_refuse, replace)
    url = servers().database_url
    restore_tables(url, path)
    migrations.upgrade(url)
    # The workers of the backup are elsewhere, or gone.
    with_database(workers.end_all)
    revision, found = with_database(_content)
    words = f"Restored {counted(found, 'run')} from {path}. `ragq up` starts the workers."
    print_result(_backup_json(path, revision, found), words, as_json=as_json)


async def _content(connection: Connection) -> tuple[str | None, int]:
    """The revision of the tables, and how many runs are in them."""
    stored = await migrations.stored_revision(connection)
    return stored, 0 if stored is None else await runs.count(connection)


async def _refuse(connection: Connection, replace: bool) -> None:
    revision, found = await _content(connection)
    if revision is None:
        return
    if await workers.live(connection, within_s=_WORKERS_SEEN_SECONDS):
        raise StackError("Workers use the database. `ragq down` and `ragq up --no-workers`, then restore.")
    if found and not replace:
        raise StackError(
            f"The database has {found} runs, which would be gone. Set RAGQ_HOME to another folder, or give --replace."
        )


def _backup_json(path: Path, revision: str | None, found: int) -> dict[str, object]:
    return {"file": str(path), "bytes": path.stat().st_size, "revision": revision, "runs": found}


@group()
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
    secret, made = with_database(access.create, name, scope, lifetime=lifetime)
    print_result(vars(made) | {"secret": secret}, secret, as_json=as_json)
    until = "" if made.expires_at is None else f", until {Moment(made.expires_at)} UTC"
    print_text(
        f"Token {made.id}, {name} ({scope}{until}). It is not shown again. "
        "From now on the API and its pages open for tokens alone, on loopback too.",
        err=True,
    )


@token.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List every token that was ever created, the oldest first.

    \b
    Example:
        ragq token list
    """
    found = with_database(access.list_all)
    table = FittingTable("id", "name", "scope", "state", "made", "expires", "last used")
    for stored in found:
        state = "live" if stored.is_live else "expired" if stored.revoked_at is None else "revoked"
        times = (time and Moment(time) for time in (stored.created_at, stored.expires_at, stored.used_at))
        table.add_row(stored.id, stored.name, stored.scope, state, *times)
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
    revoked = with_database(access.revoke, token)
    still_closed = with_database(access.any_live)
    print_result(vars(revoked), f"Revoked token {revoked.id}, {revoked.name}.", as_json=as_json)
    if not still_closed:
        draw("No live token is left: `ragq api` on loopback lets everybody of this machine in.", err=True)
