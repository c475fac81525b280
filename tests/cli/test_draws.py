"""`ragq submit --samples` and `--fresh`, and `ragq report` over draws of the same work."""

import json

import pytest

from store.database import Connection
from tests.cli.conftest import Ragq, Stored
from tests.fakes.chat import served
from tests.stages.reports.builders import labels, scores
from tests.store.scored import import_labels, store_scored_run

FEW = ("--bootstrap-resamples", "20")


@pytest.fixture(autouse=True)
def participant(stored: Stored) -> None:
    stored(import_labels, {316: labels("10"), 319: labels("2")})


async def draws(connection: Connection) -> list[int]:
    """Three draws of two participants with MAE 0.25, 0.5 and 0.75, the last again, and one of another model."""
    runs = []
    for draw, digits, model in [
        (0, "10", served()),
        (1, "20", served()),
        (2, "30", served()),
        (2, "30", served()),
        (3, "33", served(digest="other")),
    ]:
        outcomes = {("zero_shot", 316): scores(digits), ("zero_shot", 319): scores("11")}
        runs.append(await store_scored_run(connection, outcomes, draw=draw, models=[model]))
    return runs


def test_a_report_shows_the_draws_of_the_same_work_and_models_with_their_spread(ragq: Ragq, stored: Stored) -> None:
    *_, third, _, other = stored(draws)

    (found,) = json.loads(ragq("report", "r1", "--json", *FEW).stdout)["draws"]
    # The newest of a draw; 319 has errors 1 and 1; 316 has 0 0, then 1 0, then 2 0.
    assert [(one["run_id"], one["draw"], one["item_mae_weighted"]) for one in found["draws"]] == [
        *(("r1", 0, 0.5), ("r2", 1, 0.75), ("r4", 2, 1.0)),
    ]
    assert found["item_mae_weighted"] == {"mean": 0.75, "std": 0.25}
    shown = [line.split() for line in ragq("report", f"r{third}", *FEW).stdout.splitlines()]
    assert ["standard", "deviation", "0.0", "0.250"] in shown
    assert ["Draw", "2:", "language", "models", "were", "asked", "anew;"] in [line[:7] for line in shown]
    assert ["2", f"r{third}", "2", "25.0", "1.000"] in shown
    assert json.loads(ragq("report", f"r{other}", "--json", *FEW).stdout)["draws"] == []
