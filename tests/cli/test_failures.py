"""`ragq failures` over stored rows."""

import json

import pytest

from schemas.values.runs import AttemptError
from store.database import Connection
from store.runs import jobs
from tests.cli.conftest import Ragq, Stored
from tests.refusals import slug_of
from tests.stages.reports.builders import labels, scores
from tests.store.scored import TIMED_OUT, end, import_labels, store_scored_run


async def failing_run(connection: Connection) -> int:
    """316 timed out once and then was scored; 319 failed with a time-out."""
    await import_labels(connection, {316: labels("1"), 319: labels("2")})
    run_id = await store_scored_run(connection, {("zero_shot", 316): TIMED_OUT, ("zero_shot", 319): TIMED_OUT})
    first = (await jobs.retry(connection, run_id=run_id))[0]
    await end(connection, first, scores("1"), first="score")
    return run_id


def test_json_has_summary_and_failures_without_private_text(ragq: Ragq, stored: Stored) -> None:
    printed = ragq("failures", str(stored(failing_run)), "--json").stdout

    found = json.loads(printed, parse_constant=pytest.fail)
    assert found["summary"]["by_category"] == {"scoring_llm_timeout": 2}
    assert [(one["severity"], one["participant_id"], one["stage"]) for one in found["failures"]] == [
        ("error", 316, "score"),
        ("error", 319, "score"),
    ]
    assert "private" not in printed


async def two_runs(connection: Connection) -> tuple[int, int]:
    """Both timed out, the second also broke otherwise."""
    broken = AttemptError("builtins.ValueError", "Chunk 17 of abcdefabcdef12 is bad", "unknown", {})
    first = await failing_run(connection)
    second = await store_scored_run(connection, {("zero_shot", 316): TIMED_OUT, ("few_shot", 316): broken})
    return first, second


@pytest.mark.parametrize(
    ("options", "jobs"),
    [(("--type", "ValueError"), 1), (("--type", "scoring_llm_timeout"), 1), (("--stage", "score"), 2)],
)
def test_only_jobs_with_the_failure_are_retried(
    ragq: Ragq, stored: Stored, options: tuple[str, str], jobs: int
) -> None:
    stored(two_runs)

    done = ragq("retry", "r2", *options, "--json")
    other = ragq("retry", "r2", "--stage", "extract")

    assert len(json.loads(done.stdout)["jobs"]) == jobs
    assert slug_of(other.exception) == "no-job-in-state"
    assert ragq("retry", "j3", *options).exit_code == 2


def test_status_ends_with_1_while_something_is_wrong(ragq: Ragq, stored: Stored) -> None:
    nothing = ragq("status")
    stored(failing_run)

    wrong, as_json = ragq("status"), ragq("status", "--json")

    assert (nothing.exit_code, nothing.stdout, wrong.exit_code) == (0, "", 1)
    assert "ragq worker --stages score" in wrong.stdout
    assert [(one["what"], one["jobs"]) for one in json.loads(as_json.stdout)["problems"]] == [
        ("no_worker", 1),
        ("no_broker", 1),
    ]
