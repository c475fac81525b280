"""`ragq diff` over stored rows."""

import json

import pytest

from store.database import Connection
from tests.cli.conftest import Ragq, Stored
from tests.stages.reports.builders import labels, scores
from tests.store.scored import TIMED_OUT, import_labels, store_scored_run

FEW = ("--bootstrap-resamples", "20")


async def two_runs(connection: Connection) -> tuple[int, int]:
    """The second run has a higher temperature, scores 316 better, and 319 not at all."""
    await import_labels(connection, {316: labels("10"), 319: labels("2")})
    cold = await store_scored_run(
        connection,
        {("zero_shot", 316): scores("21"), ("zero_shot", 319): scores("2"), ("few_shot", 316): scores("1")},
        settings={"MODEL_TEMPERATURE": 0.0},
    )
    hot = await store_scored_run(
        connection,
        {("zero_shot", 316): scores("1"), ("zero_shot", 319): TIMED_OUT},
        settings={"MODEL_TEMPERATURE": 0.5},
    )
    return cold, hot


@pytest.fixture
def pair(stored: Stored) -> tuple[str, str]:
    cold, hot = stored(two_runs)
    return f"r{cold}", f"r{hot}"


def test_json_has_one_object_per_mode_that_both_have(ragq: Ragq, pair: tuple[str, str]) -> None:
    found = json.loads(ragq("diff", *pair, "--json", *FEW).stdout, parse_constant=pytest.fail)

    assert [(one["mode"], [move["values"] for move in one["movements"]]) for one in found] == [
        ("zero_shot", [[2.0, 1.0], [1.0, None]])
    ]


async def twelve_worse(connection: Connection) -> tuple[int, int]:
    """Twelve participants that the second run scores worse, each by one."""
    await import_labels(connection, {number: labels("1") for number in range(316, 328)})
    before, after = [
        await store_scored_run(connection, {("zero_shot", number): scores(score) for number in range(316, 328)})
        for score in ("1", "2")
    ]
    return before, after


def test_a_gate_ends_with_its_own_exit_code_and_says_why(ragq: Ragq, stored: Stored) -> None:
    pair = [f"r{run_id}" for run_id in stored(twelve_worse)]

    failed = ragq("diff", *pair, "--fail-if", "mae increases", "--json", *FEW)
    passed = ragq("diff", *pair, "--fail-if", "mae decreases", "--csv", *FEW)

    assert (failed.exit_code, passed.exit_code) == (4, 0)
    assert json.loads(failed.stdout)["gate"]["verdicts"][0]["outcome"] == "failed"
    assert json.loads(failed.stdout)["comparisons"][0]["compared"][0]["subjects"] == 12
    assert failed.stderr.startswith("failed: zero_shot mae increases: ")
    assert passed.stderr.startswith("passed: zero_shot mae decreases: ")


def test_a_gate_is_of_two_runs(ragq: Ragq, pair: tuple[str, str]) -> None:
    refused = ragq("diff", *pair, pair[0], "--fail-if", "mae increases")

    assert "between two runs" in str(refused.exception)
