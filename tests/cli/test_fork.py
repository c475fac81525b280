"""`ragq fork`, and `ragq retry --from`."""

import json

import pytest

from cli.fork import report_fork
from services.forks import Forked, LeftOut
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


def test_the_jobs_that_a_fork_left_out_are_counted_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    left_out = tuple(LeftOut(job_id=n, subject="316", mode="few_shot", why="it is not stored") for n in range(1, 23))
    forked = Forked(
        run_id=2, parent_id=1, is_new=True, jobs=2, resumed=0, left_out=left_out, without_stage=1, searched=None
    )

    report_fork(forked, "retrieve")

    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["r2: 2 jobs of r1 forked from 'retrieve'.", "1 job without stage 'retrieve' not forked."]
    assert lines[2] == "Left out: j1 (316, few_shot): it is not stored."
    assert len(lines) - 3 + int(lines[-1].split()[1]) == len(left_out)
