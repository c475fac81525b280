"""`ragq failures` over stored rows."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from schemas.errors import Refused
from store.database import Connection
from store.runs import job_control
from tests.cli.conftest import Ragq
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


def test_a_run_without_failures_reports_none(ragq: Ragq, stored: Callable[..., Any]) -> None:
    done = ragq("failures", str(stored(spotless_run)))

    assert (done.stdout, done.stderr) == ("", "Nothing went wrong in r1.\n")


def test_a_missing_run_is_refused(ragq: Ragq) -> None:
    assert isinstance(ragq("failures", "r99").exception, Refused)
