"""`ragq token`: the token alone is on stdout, so that a shell can capture it."""

import json
from collections.abc import Callable
from typing import Any

from schemas.errors import Refused
from store.access.api_tokens import Scope, holder_of_token
from tests.cli.conftest import Ragq


def test_stdout_holds_the_token_alone(ragq: Ragq, stored: Callable[..., Any]) -> None:
    made = ragq("token", "create", "laptop")

    assert made.stdout.startswith("ragq_")
    assert made.stdout.count("\n") == 1
    assert stored(holder_of_token, made.stdout.strip()).scope is Scope.WRITE
    assert made.stdout.strip() not in made.stderr
    assert "From now on the API and its pages open for tokens alone, on loopback too." in made.stderr


def test_a_token_and_its_end_are_printed_as_json(ragq: Ragq, stored: Callable[..., Any]) -> None:
    made = json.loads(ragq("token", "create", "laptop", "--json").stdout)
    revoked = json.loads(ragq("token", "revoke", "laptop", "--json").stdout)

    assert (made["name"], made["is_live"], made["secret"].startswith("ragq_")) == ("laptop", True, True)
    assert (revoked["id"], revoked["is_live"], "secret" in revoked) == (made["id"], False, False)


def test_a_token_may_be_read_only_and_expire(ragq: Ragq, stored: Callable[..., Any]) -> None:
    made = ragq("token", "create", "monitor", "--read-only", "--days", "30")

    assert stored(holder_of_token, made.stdout.strip()).scope is Scope.READ
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


def test_no_token_is_no_error(ragq: Ragq) -> None:
    listed = ragq("token", "list")

    assert (listed.exit_code, listed.stdout) == (0, "")
    assert "`ragq token create NAME` makes one" in listed.stderr


def test_revoking_the_last_token_reports_open_access(ragq: Ragq, stored: Callable[..., Any]) -> None:
    secrets = [ragq("token", "create", name).stdout.strip() for name in ("laptop", "phone")]

    first, last = ragq("token", "revoke", "1"), ragq("token", "revoke", "phone")

    assert first.output == "Revoked token 1, laptop.\n"
    assert last.stdout == "Revoked token 2, phone.\n"
    assert "No live token is left" in last.stderr
    assert [stored(holder_of_token, secret) for secret in secrets] == [None, None]


def test_a_name_in_use_and_a_revoked_token_are_refused(ragq: Ragq) -> None:
    ragq("token", "create", "laptop")

    assert isinstance(ragq("token", "create", "laptop").exception, Refused)
    assert isinstance(ragq("token", "create", "my laptop").exception, Refused)
    assert isinstance(ragq("token", "revoke", "phone").exception, Refused)
