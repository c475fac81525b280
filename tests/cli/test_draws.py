"""`ragq submit --samples` and `--fresh`, and `ragq report` over draws of the same work."""

import json
from pathlib import Path

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
    first, second, third, again, other = stored(draws)

    (found,) = json.loads(ragq("report", f"r{first}", "--json", *FEW).stdout)["draws"]
    assert [(draw["run_id"], draw["draw"]) for draw in found["draws"]] == [
        (f"r{first}", 0),
        (f"r{second}", 1),
        (f"r{again}", 2),
    ]
    # 319 has errors 1 and 1; 316 has 0 0, then 1 0, then 2 0.
    assert [draw["item_mae_weighted"] for draw in found["draws"]] == [0.5, 0.75, 1.0]
    assert found["item_mae_weighted"] == {"mean": 0.75, "std": 0.25}
    assert found["prediction_coverage"] == {"mean": 0.25, "std": 0.0}

    shown = [line.split() for line in ragq("report", f"r{third}", *FEW).stdout.splitlines()]
    assert ["standard", "deviation", "0.0", "0.250"] in shown
    assert ["Draw", "2:", "language", "models", "were", "asked", "anew;"] in [line[:7] for line in shown]
    assert ["2", f"r{third}", "2", "25.0", "1.000"] in shown
    assert json.loads(ragq("report", f"r{other}", "--json", *FEW).stdout)["draws"] == []
    ragq("report", f"r{first}", "--html", "report.html", *FEW)
    assert "<td>standard deviation</td>" in Path("report.html").read_text()
