"""`ragq failures` over stored rows."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from schemas.errors import Refused
from schemas.values.failures import AttemptError
from store.database import Connection
from store.runs import job_control
from tests.cli.conftest import Ragq
from tests.refusals import slug_of
from tests.stages.reports.builders import labels, scores
from tests.store.scored import TIMED_OUT, end, import_labels, store_scored_run


async def failing_run(connection: Connection) -> int:
    """316 timed out once and then was scored; 319 failed with a time-out."""
    await import_labels(connection, {316: labels("1"), 319: labels("2")})
    run_id = await store_scored_run(connection, {("zero_shot", 316): TIMED_OUT, ("zero_shot", 319): TIMED_OUT})
    first = (await job_control.retry(connection, run_id=run_id))[0]
    await end(connection, first, scores("1"), first="score")
    return run_id


async def spotless_run(connection: Connection) -> int:
    await import_labels(connection, {316: labels("1")})
    return await store_scored_run(connection, {("zero_shot", 316): scores("1")})


def test_each_failure_is_a_line_and_resolved_ones_are_marked(ragq: Ragq, stored: Callable[..., Any]) -> None:
    shown = ragq("failures", str(stored(failing_run))).output

    lines = [line.split(maxsplit=4)[1:] for line in shown.splitlines()]
    assert ["316", "score", "scoring_llm_timeout", "resolved  LLM request timed out after 600s"] in lines
    assert "2 failures, 1 unresolved: 2 scoring_llm_timeout" in shown


def test_json_has_summary_and_failures_without_private_text(ragq: Ragq, stored: Callable[..., Any]) -> None:
    printed = ragq("failures", str(stored(failing_run)), "--json").stdout

    found = json.loads(printed, parse_constant=pytest.fail)
    assert found["summary"]["by_category"] == {"scoring_llm_timeout": 2}
    assert [(one["severity"], one["participant_id"], one["stage"]) for one in found["failures"]] == [
        ("error", 316, "score"),
        ("error", 319, "score"),
    ]
    assert "private" not in printed


def test_times_in_json_end_in_z(ragq: Ragq, stored: Callable[..., Any]) -> None:
    run_id = stored(failing_run)

    listed = json.loads(ragq("failures", str(run_id), "--json").stdout)
    (cluster,) = json.loads(ragq("failures", "--json").stdout)["clusters"]

    times = (
        *(listed["summary"]["start"], listed["summary"]["end"], cluster["first_at"], cluster["last_at"]),
        *(one["timestamp"] for one in listed["failures"]),
    )
    assert [time for time in times if not time.endswith("Z")] == []


def test_a_run_without_failures_reports_none(ragq: Ragq, stored: Callable[..., Any]) -> None:
    done = ragq("failures", str(stored(spotless_run)))

    assert (done.stdout, done.stderr) == ("", "Nothing went wrong in r1.\n")


def test_a_missing_run_is_refused(ragq: Ragq) -> None:
    assert isinstance(ragq("failures", "r99").exception, Refused)


async def two_runs(connection: Connection) -> tuple[int, int]:
    """Both timed out, the second also broke otherwise; a call of the first is stored."""
    broken = AttemptError("builtins.ValueError", "Chunk 17 of abcdefabcdef12 is bad", "unknown", {})
    first = await failing_run(connection)
    second = await store_scored_run(connection, {("zero_shot", 316): TIMED_OUT, ("few_shot", 316): broken})
    await connection.execute(
        "INSERT INTO llm_call (key, model, digest, request, reply, stop_reason, seconds) VALUES "
        "('k', 'm', 'd', '{\"messages\": [{\"role\": \"user\", \"content\": \"the prompt\"}]}', 'the reply', 'stop', 1)"
    )
    await connection.execute(
        "INSERT INTO llm_call_use (attempt_id, ordinal, call_id, purpose, is_reused) "
        "SELECT a.id, 0, 1, 'score', false FROM stage_attempt AS a WHERE a.error_type = 'builtins.ValueError'"
    )
    return first, second


def test_failures_of_several_runs_are_grouped_by_type_stage_and_cause(ragq: Ragq, stored: Callable[..., Any]) -> None:
    stored(two_runs)

    found = json.loads(ragq("failures", "--json").stdout)
    table = ragq("failures").output
    one_run = json.loads(ragq("failures", "r2", "--clusters", "--json").stdout)

    assert [(one["type"], one["failures"], one["failed_jobs"], one["runs"]) for one in found["clusters"]] == [
        ("schemas.errors.LLMTimeoutError", 3, 1, ["r1", "r2"]),
        ("builtins.ValueError", 1, 1, ["r2"]),
    ]
    assert found["clusters"][1]["cause"] == "Chunk # of # is bad"
    assert "4 failures in 2 clusters of 2 runs" in table
    assert [one["failures"] for one in one_run["clusters"]] == [1, 1]


def test_prompts_and_replies_of_failures_are_shown_where_asked(ragq: Ragq, stored: Callable[..., Any]) -> None:
    stored(two_runs)

    shown = ragq("failures", "r2", "--type", "ValueError", "--with-text")
    as_json = json.loads(ragq("failures", "--type", "ValueError", "--with-text", "--json").stdout)
    without = ragq("failures", "r2", "--type", "ValueError")

    assert ("the prompt" in shown.output, "the reply" in shown.output) == (True, True)
    assert as_json["exchanges"][0]["calls"][0]["reply"] == "the reply"
    assert "the prompt" not in without.output


@pytest.mark.parametrize(("options", "jobs"), [(("--type", "ValueError"), 1), (("--stage", "score"), 2)])
def test_only_jobs_with_the_failure_are_retried(
    ragq: Ragq, stored: Callable[..., Any], options: tuple[str, str], jobs: int
) -> None:
    stored(two_runs)

    done = ragq("retry", "r2", *options, "--json")
    other = ragq("retry", "r2", "--stage", "extract")

    assert len(json.loads(done.stdout)["jobs"]) == jobs
    assert slug_of(other.exception) == "no-job-in-state"
    assert ragq("retry", "j3", *options).exit_code == 2
