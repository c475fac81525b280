"""`ragq diff` over stored rows."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from store.database import Connection
from tests.cli.conftest import Ragq
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
def pair(stored: Callable[..., Any]) -> tuple[str, str]:
    cold, hot = stored(two_runs)
    return f"r{cold}", f"r{hot}"


def test_json_has_one_object_per_mode_that_both_have(ragq: Ragq, pair: tuple[str, str]) -> None:
    found = json.loads(ragq("diff", *pair, "--json", *FEW).stdout, parse_constant=pytest.fail)

    assert [(one["left"]["mode"], one["flip_counts"]) for one in found] == [
        ("zero_shot", {"lost": 1, "gained": 0, "changed": 1})
    ]
