"""Commands on runs: listed, changed, forked, retried, purged, estimated, and what failed of them.

test_shown.py has what they print.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from cli.fork import report_fork
from schemas.values.runs import AttemptError
from services.new_runs import Submitted
from store.database import Connection
from store.runs import jobs, runs
from tests.cli.conftest import Ragq, Stored
from tests.refusals import slug_of
from tests.stages.reports.builders import labels, scores
from tests.store.conftest import new_run
from tests.store.runs.test_deletions import a_finished_run, age
from tests.store.runs.test_run_view import HERE
from tests.store.scored import TIMED_OUT, end, forkable_run, import_labels, store_scored_run

BOTH = {("zero_shot", 316): TIMED_OUT, ("zero_shot", 319): TIMED_OUT}


async def three_runs(connection: Connection) -> None:
    """A scored one, one of a checkout in which a job failed, and one without scores."""
    await import_labels(connection, {316: labels("10"), 319: labels("2")})
    both = [(mode, participant) for mode in ("zero_shot", "few_shot") for participant in (316, 319)]
    whole = dict.fromkeys(both, scores("11", "21"))
    await store_scored_run(connection, whole)
    drawn = await store_scored_run(connection, {**whole, ("few_shot", 319): TIMED_OUT}, draw=2)
    environment = await runs.keep(connection, HERE)
    await connection.execute("UPDATE run SET environment_id = $1 WHERE id = $2", environment, drawn)
    await runs.store(connection, new_run())


async def failing_run(connection: Connection) -> None:
    """316 timed out once and then was scored; 319 failed with a time-out."""
    await import_labels(connection, {316: labels("1"), 319: labels("2")})
    run_id = await store_scored_run(connection, BOTH)
    first = (await jobs.retry(connection, run_id=run_id))[0]
    await end(connection, first, scores("1"), first="score")


async def failing_otherwise(connection: Connection) -> None:
    broken = AttemptError("builtins.ValueError", "Chunk 17 of abcdefabcdef12 is bad", "unknown", {})
    await store_scored_run(connection, {("zero_shot", 316): TIMED_OUT, ("few_shot", 316): broken})


def test_json_has_the_commit_and_the_figures_of_each_run(ragq: Ragq, stored: Stored) -> None:
    stored(three_runs)

    unscored, drawn, first = json.loads(ragq("runs", "--json").stdout, parse_constant=pytest.fail)["items"]

    assert [run["id"] for run in (first, drawn, unscored)] == [1, 2, 3]
    assert (drawn["git_commit"], drawn["git_dirty"], drawn["request"]["draw"]) == (HERE.git_commit, True, 2)
    assert (first["git_commit"], first["request"]["split"]) == (None, "paper-test")
    assert datetime.fromisoformat(first["created_at"]).tzinfo is not None
    # 316 has errors 0 and 1, 319 has 1 and 1; two of eight items are scored.
    figures = ("mode", "status", "participants", "compared", "mae", "coverage")
    assert [first["experiments"][0][name] for name in figures] == ["zero_shot", "succeeded", 2, 2, 0.75, 0.25]
    assert [(one["mode"], one["status"], one["compared"]) for one in drawn["experiments"]] == [
        ("zero_shot", "succeeded", 2),
        ("few_shot", "failed", 1),
    ]
    assert unscored["experiments"] == []


def test_a_name_and_a_priority_are_set_and_the_name_stands_for_the_run(ragq: Ragq, stored: Stored) -> None:
    for _ in range(2):
        stored(runs.store, new_run(), always_new=True)

    lowered = ragq("set", "1", "--name", "Baseline", "--priority", "bulk")
    taken = ragq("set", "r2", "--name", "BaseLine")
    raised = ragq("set", "r2", "--priority", "interactive", "--json")

    assert lowered.stdout == "r1 'Baseline': name, priority stored.\n"
    assert json.loads(raised.stdout)["priority"] == "interactive"
    assert json.loads(ragq("show", "baseline", "--json").stdout)["run"]["id"] == 1
    assert ragq("pause", "BASELINE").stdout == "1 job of r1 paused.\n"
    assert {run["id"]: run["priority"] for run in json.loads(ragq("runs", "--json").stdout)["items"]}[1] == "bulk"
    assert "'other' is neither the number of a run, like r12, nor a run's name." in ragq("show", "other").stderr
    assert [ragq("show", "other").exit_code, ragq("pause", "12").exit_code, taken.exit_code] == [2, 2, 1]
    assert "`ragq set r1 --name ''`" in str(taken.exception)
    assert ragq("set", "r1", "--name", "").exit_code == 0
    assert ragq("set", "r2", "--name", "BaseLine").exit_code == 0


def test_old_runs_are_purged_after_a_yes_and_active_ones_refused_with_a_remedy_that_works(
    ragq: Ragq, stored: Stored
) -> None:
    old = stored(a_finished_run)
    stored(age, old, 91)
    stored(runs.store, new_run(), always_new=True)

    def purge(*options: str, **given: str) -> Any:
        return ragq("purge", *options, **given)

    assert purge("--older-than", "90d", input="n\n").exit_code == 1
    assert ragq("show", "r1").exit_code == 0
    purged = json.loads(purge("--older-than", "12w", "--yes", "--json").stdout)["purged"]
    assert [one["run_id"] for one in purged] == [old]
    assert ragq("show", "r1").exit_code == 1
    assert purge("--older-than", "12w", "--yes").stderr == "0 runs purged.\n"
    active = purge("--run", "r2", "--yes")
    assert (active.exit_code, "`ragq cancel r2` ends them" in str(active.exception)) == (1, True)
    assert ragq("cancel", "r2").exit_code == 0
    assert json.loads(purge("--run", "r2", "--yes", "--json").stdout)["purged"][0]["jobs"] == 1
    assert purge("--run", "r2", "--yes").exit_code == 1


def test_a_fork_is_printed_as_text_and_as_json(ragq: Ragq, stored: Stored) -> None:
    stored(forkable_run, {316: scores("11"), 319: None})
    fork = ("fork", "r1", "--from", "score", "--set", "RAGQ_SCORE_SCHEMA=true")

    forked, again = ragq(*fork, "--name", "held"), ragq(*fork, "--json")

    assert (forked.exit_code, forked.stdout) == (0, "r2\n")
    assert "r2: 2 jobs of r1 forked from 'score'." in forked.stderr
    found = {"run": "r2", "parent": "r1", "from": "score", "is_new": False, "jobs": 2, "left_out": {}}
    assert found.items() <= json.loads(again.stdout).items()
    assert "Already forked as r2" in again.stderr


def test_the_jobs_that_a_fork_left_out_are_counted_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    left_out = {"stage 'embed' is not stored": [*range(1, 23)]}
    forked = Submitted(run_id=2, parent_id=1, is_new=True, jobs=2, resumed=0, left_out=left_out)

    report_fork(forked, "retrieve")

    assert capsys.readouterr().err.splitlines() == [
        "r2: 2 jobs of r1 forked from 'retrieve'.",
        "Left out: j1, j2, j3, j4, j5 and 17 more: stage 'embed' is not stored.",
    ]


def test_failures_hold_no_private_text_and_status_ends_with_1_while_something_is_wrong(
    ragq: Ragq, stored: Stored
) -> None:
    nothing = ragq("status")
    stored(failing_run)

    printed = ragq("failures", "1", "--json").stdout
    wrong, as_json = ragq("status"), ragq("status", "--json")

    found = json.loads(printed, parse_constant=pytest.fail)
    assert found["summary"]["by_category"] == {"scoring_llm_timeout": 2}
    assert [(one["severity"], one["participant_id"], one["stage"]) for one in found["failures"]] == [
        ("error", 316, "score"),
        ("error", 319, "score"),
    ]
    assert "private" not in printed
    assert (nothing.exit_code, nothing.stdout, wrong.exit_code) == (0, "", 1)
    assert "ragq worker --stages score" in wrong.stdout
    problems = json.loads(as_json.stdout)["problems"]
    assert [(one["what"], one["jobs"]) for one in problems] == [("no_worker", 1), ("no_broker", 1)]


def test_only_jobs_with_the_failure_are_retried(ragq: Ragq, stored: Stored) -> None:
    stored(failing_run)
    stored(failing_otherwise)

    other = ragq("retry", "r2", "--stage", "extract")
    # The first option leaves one of the two failed jobs to the second.
    for options in (("--type", "ValueError"), ("--stage", "score")):
        assert len(json.loads(ragq("retry", "r2", *options, "--json").stdout)["jobs"]) == 1
        assert ragq("retry", "j3", *options).exit_code == 2
    assert slug_of(other.exception) == "no-job-in-state"


def test_a_dry_run_is_printed_and_nothing_is_stored(ragq: Ragq, stored: Stored) -> None:
    stored(import_labels, {316: labels("2")})
    Path("prices.toml").write_text('currency = "EUR"\n[models."m"]\nprompt = 1\nreply = 2\n')
    Path(".env").write_text("RAGQ_PRICES=prices.toml")
    asked = ("submit", "--participants", "316", "--zero-shot-only", "--dry-run")

    shown = ragq(*asked)
    found = json.loads(ragq(*asked, "--json").stdout)
    several = json.loads(ragq(*asked, "--samples", "2", "--json").stdout)

    assert shown.exit_code == 0, shown.stdout
    assert "1 job (1 zero_shot), profile demo; nothing was stored or sent" in shown.stdout
    # A stage that asks no model has no calls to count.
    assert [line.split() for line in shown.stdout.splitlines() if "assemble" in line] == [["assemble", "1", "N/A"]]
    assert "money: N/A" in shown.stdout and "no past run of kind participant" in shown.stdout
    assert (found["jobs"], list(found["stages"])) == (1, ["extract", "assemble", "score"])
    assert len(several) == 2
    assert stored(lambda connection: connection.fetchval("SELECT count(*) FROM run")) == 0
