"""`ragq purge`."""

import json

import pytest

from store.database import Connection
from tests.cli.conftest import Ragq, Stored
from tests.store.runs.test_purging import a_finished_run, age


@pytest.fixture
def old_run(stored: Stored) -> int:
    async def old(connection: Connection) -> int:
        run_id = await a_finished_run(connection)
        await age(connection, run_id, 91)
        return run_id

    found: int = stored(old)
    return found


def test_a_purged_run_is_gone(ragq: Ragq, old_run: int) -> None:
    done = ragq("purge", "--older-than", "12w", "--yes", "--json")

    assert [one["run_id"] for one in json.loads(done.stdout)["purged"]] == [old_run]
    assert ragq("show", f"r{old_run}").exit_code == 1
    assert ragq("purge", "--older-than", "12w", "--yes").stderr == "0 runs purged.\n"


def test_without_a_yes_nothing_goes(ragq: Ragq, old_run: int) -> None:
    assert ragq("purge", "--older-than", "90d", input="n\n").exit_code == 1
    assert ragq("show", f"r{old_run}").exit_code == 0


def test_an_age_is_needed(ragq: Ragq) -> None:
    for options, words in [
        ((), "Give --older-than AGE, or --run RUN."),
        (("--older-than", "90"), "'90' is no age; write a number of hours, days or weeks"),
    ]:
        refused = ragq("purge", *options)
        assert (refused.exit_code, words in " ".join(refused.stderr.split())) == (2, True)
