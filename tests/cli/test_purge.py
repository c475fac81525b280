"""`ragq purge`, and what `ragq audit` shows afterwards."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from store.database import Connection
from tests.cli.conftest import Ragq
from tests.store.runs.test_purging import a_finished_run, age


@pytest.fixture
def old_run(stored: Callable[..., Any]) -> int:
    async def old(connection: Connection) -> int:
        run_id = await a_finished_run(connection)
        await age(connection, run_id, 91)
        return run_id

    found: int = stored(old)
    return found


def test_a_dry_run_changes_nothing(ragq: Ragq, old_run: int) -> None:
    shown = ragq("purge", "--older-than", "90d", "--dry-run", "--json")
    assert json.loads(shown.stdout) == {"runs": [{"run": f"r{old_run}", "kind": "participant", "jobs": 1}]}
    assert ragq("show", f"r{old_run}").exit_code == 0


def test_a_purged_run_is_gone_and_the_audit_says_since_when(ragq: Ragq, old_run: int) -> None:
    done = ragq("purge", "--older-than", "12w", "--yes", "--json")
    assert [one["run_id"] for one in json.loads(done.stdout)["purged"]] == [old_run]

    audited = ragq("audit", f"r{old_run}")
    assert (audited.exit_code, audited.stdout.startswith(f"Run r{old_run} was purged on ")) == (0, True)
    assert "(older than 84 d): 1 jobs, 0 attempts." in audited.stdout
    found = json.loads(ragq("audit", f"r{old_run}", "--json").stdout)
    assert (found["flaws"], [one["run"] for one in found["purged"]]) == ([], [f"r{old_run}"])
    assert ragq("purge", "--older-than", "12w", "--yes").stderr == "0 runs purged.\n"


def test_a_changed_tombstone_fails_the_audit(ragq: Ragq, old_run: int, stored: Callable[..., Any]) -> None:
    ragq("purge", "--run", f"r{old_run}", "--yes")
    stored(lambda connection: connection.execute("UPDATE tombstone SET jobs = 0"))

    audited = ragq("audit", f"r{old_run}")
    assert (audited.exit_code, f"the tombstone of r{old_run} changed" in audited.stdout) == (1, True)


def test_without_a_yes_nothing_goes(ragq: Ragq, old_run: int) -> None:
    assert ragq("purge", "--older-than", "90d", input="n\n").exit_code == 1
    assert ragq("show", f"r{old_run}").exit_code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "Give --older-than AGE, or --run RUN."),
        (("--older-than", "90"), "'90' is no age; write a number of hours, days or weeks"),
    ],
)
def test_an_age_is_needed(ragq: Ragq, options: tuple[str, ...], words: str) -> None:
    refused = ragq("purge", *options)
    assert (refused.exit_code, words in " ".join(refused.stderr.split())) == (2, True)
