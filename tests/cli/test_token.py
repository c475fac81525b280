"""`ragq token`: the token alone is on stdout, so that a shell can capture it."""

import json

from store.access import Scope, recognise
from tests.cli.conftest import Ragq, Stored


def test_stdout_holds_the_token_alone(ragq: Ragq, stored: Stored) -> None:
    made = ragq("token", "create", "laptop")

    assert made.stdout.startswith("ragq_")
    assert made.stdout.count("\n") == 1
    assert stored(recognise, made.stdout.strip()).holder.scope is Scope.WRITE
    assert made.stdout.strip() not in made.stderr
    assert "From now on the API and its pages open for tokens alone, on loopback too." in made.stderr


def test_a_token_may_be_read_only_and_expire(ragq: Ragq, stored: Stored) -> None:
    made = ragq("token", "create", "monitor", "--read-only", "--days", "30")

    assert stored(recognise, made.stdout.strip()).holder.scope is Scope.READ
    [listed] = json.loads(ragq("token", "list", "--json").stdout)
    assert (listed["scope"], listed["is_live"], listed["expires_at"] is None) == ("read", True, False)
    assert ragq("token", "create", "x", "--days", "0").exit_code == 2


def test_a_list_shows_the_state_and_never_the_token(ragq: Ragq) -> None:
    secret = ragq("token", "create", "laptop").stdout.strip()
    ragq("token", "create", "phone")
    ragq("token", "revoke", "phone")

    listed = ragq("token", "list").stdout

    lines = [line.split()[:4] for line in listed.splitlines()[1:]]
    assert lines == [["1", "laptop", "write", "live"], ["2", "phone", "write", "revoked"]]
    assert secret not in listed + ragq("token", "list", "--json").stdout


def test_revoking_the_last_token_reports_open_access(ragq: Ragq, stored: Stored) -> None:
    secrets = [ragq("token", "create", name).stdout.strip() for name in ("laptop", "phone")]

    first, last = ragq("token", "revoke", "1"), ragq("token", "revoke", "phone")

    assert first.output == "Revoked token 1, laptop.\n"
    assert last.stdout == "Revoked token 2, phone.\n"
    assert "No live token is left" in last.stderr
    assert [stored(recognise, secret).holder for secret in secrets] == [None, None]
