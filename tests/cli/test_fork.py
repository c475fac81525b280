"""`ragq fork`, and `ragq retry --from`."""

import json

import pytest

from store.runs import jobs
from store.runs.runs import StoredRun
from tests.cli.conftest import Ragq, Stored
from tests.stages.reports.builders import scores
from tests.store.forkable import forkable_run


@pytest.fixture
def parent(stored: Stored) -> StoredRun:
    """A run of two participants, of which the second has no scores yet."""
    found: StoredRun = stored(forkable_run, {316: scores("11"), 319: None})
    return found


def test_a_fork_is_printed_as_text_and_as_json(ragq: Ragq, parent: StoredRun) -> None:
    forked = ragq("fork", f"r{parent.run_id}", "--from", "score", "--set", "RAGQ_SCORE_SCHEMA=true", "--name", "held")
    again = ragq("fork", f"r{parent.run_id}", "--from", "score", "--set", "RAGQ_SCORE_SCHEMA=true", "--json")

    assert (forked.exit_code, forked.stdout) == (0, "r2\n")
    assert "r2: 2 jobs of r1 forked from 'score'." in forked.stderr
    found = json.loads(again.stdout)
    assert {name: found[name] for name in ("run", "parent", "from", "is_new", "jobs", "left_out")} == {
        "run": "r2",
        "parent": "r1",
        "from": "score",
        "is_new": False,
        "jobs": 2,
        "left_out": [],
    }
    assert "Already forked as r2" in again.stderr


def test_a_job_that_succeeded_is_computed_again_in_place(ragq: Ragq, parent: StoredRun, stored: Stored) -> None:
    done = ragq("retry", f"j{parent.job_ids[0]}", "--from", "assemble", "--json")

    assert json.loads(done.stdout) == {"job": "j1", "from": "assemble"}
    assert stored(jobs.job, 1).status == "waiting"
    assert "3" in ragq("inspect", "j1").output
