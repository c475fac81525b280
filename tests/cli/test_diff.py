"""`ragq diff` over stored rows."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from schemas.errors import Refused
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


def test_deltas_settings_failures_and_items_are_shown(ragq: Ragq, pair: tuple[str, str]) -> None:
    shown = ragq("diff", *pair, *FEW).output

    lines = [line.split() for line in shown.splitlines()]
    assert shown.startswith(f"{pair[1]} zero_shot - {pair[0]} zero_shot  participants scored by both: 1")
    assert ["item_mae_weighted", "1.000", "0.000", "-1.000"] in [line[:4] for line in lines]
    assert ["MODEL_TEMPERATURE", "0.0", "0.5"] in lines
    assert ["316", "NoInterest", "2", "1", "1", "-1"] in lines
    assert ["316", "Depressed", "1", "N/A", "0"] in lines
    assert f"Failed in {pair[1]} zero_shot only: 319" in shown
    assert "Items: 1 lost, 0 gained, 1 changed." in shown


def test_json_has_one_object_per_mode_that_both_have(ragq: Ragq, pair: tuple[str, str]) -> None:
    found = json.loads(ragq("diff", *pair, "--json", *FEW).stdout, parse_constant=pytest.fail)

    assert [(one["left"]["mode"], one["flip_counts"]) for one in found] == [
        ("zero_shot", {"lost": 1, "gained": 0, "changed": 1})
    ]


def test_the_modes_of_one_run_can_be_compared(ragq: Ragq, pair: tuple[str, str]) -> None:
    modes = ("--mode", "zero_shot", "--other-mode", "few_shot")
    (found,) = json.loads(ragq("diff", pair[0], pair[0], *modes, "--json", *FEW).stdout)

    assert (found["left"]["mode"], found["right"]["mode"], found["only_in_left"]) == ("zero_shot", "few_shot", [319])


def test_a_mode_that_a_run_does_not_have_is_refused(ragq: Ragq, pair: tuple[str, str]) -> None:
    refused = ragq("diff", *pair, "--mode", "few_shot").exception

    assert isinstance(refused, Refused)
    assert str(refused) == f"Run {pair[1]} has no jobs in mode few_shot; it has zero_shot."


def test_other_mode_needs_mode(ragq: Ragq, pair: tuple[str, str]) -> None:
    assert ragq("diff", *pair, "--other-mode", "few_shot").exit_code == 2
