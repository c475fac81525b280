"""`ragq runs --json` and `--csv`: the registry of runs, with what ai-psychiatrist kept in `registry.yaml`."""

import json
from datetime import datetime

import pytest

from schemas.values.runs import Environment
from store.database import Connection
from store.runs import runs
from tests.cli.conftest import Ragq, Stored
from tests.stages.reports.builders import labels, scores
from tests.store.conftest import new_run
from tests.store.scored import TIMED_OUT, import_labels, store_scored_run

ENVIRONMENT = Environment(
    ragq_version="0.1.0",
    git_commit="c0ffee",
    git_dirty=True,
    python="3.11.9",
    platform="Linux",
    packages={"numpy": "2.4.0"},
    cpu="fast",
    cores=2,
    gpus=(),
)


async def three_runs(connection: Connection) -> list[int]:
    """A scored one, one of a checkout in which a job failed, and one without scores."""
    await import_labels(connection, {316: labels("10"), 319: labels("2")})
    both = [(mode, participant) for mode in ("zero_shot", "few_shot") for participant in (316, 319)]
    whole = dict.fromkeys(both, scores("11", "21"))
    first = await store_scored_run(connection, whole)
    second = await store_scored_run(connection, {**whole, ("few_shot", 319): TIMED_OUT}, draw=2)
    await connection.execute(
        "UPDATE run SET environment_id = $1 WHERE id = $2", await runs.keep(connection, ENVIRONMENT), second
    )
    third = (await runs.store(connection, new_run())).run_id
    return [first, second, third]


@pytest.fixture
def run_ids(stored: Stored) -> list[int]:
    found: list[int] = stored(three_runs)
    return found


def test_json_has_what_the_registry_of_the_original_had(ragq: Ragq, run_ids: list[int]) -> None:
    unscored, drawn, first = json.loads(ragq("runs", "--json").stdout, parse_constant=pytest.fail)

    assert [run["run_id"] for run in (first, drawn, unscored)] == [f"r{run_id}" for run_id in run_ids]
    assert (drawn["git_commit"], drawn["git_dirty"], drawn["draw"], first["draw"]) == ("c0ffee", True, 2, 0)
    assert (first["git_commit"], first["output"]) == (None, f"ragq report r{run_ids[0]} --json")
    assert datetime.fromisoformat(first["timestamp"]).tzinfo is not None
    # 316 has errors 0 and 1, 319 has 1 and 1; two of eight items are scored.
    assert first["experiments"][0] == {
        "mode": "zero_shot",
        "data_set": None,
        "split": "paper-test",
        "limit": None,
        "status": "succeeded",
        "participants": 2,
        "evaluated": 2,
        "mae_weighted": 0.75,
        "coverage_pct": 25.0,
    }
    assert [(one["mode"], one["status"], one["evaluated"]) for one in drawn["experiments"]] == [
        ("zero_shot", "succeeded", 2),
        ("few_shot", "failed", 1),
    ]
    assert (unscored["experiments"][0]["status"], unscored["experiments"][0]["mae_weighted"]) == ("unfinished", None)
