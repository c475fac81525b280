"""Sweeps: forks at every point of a grid, compared with their parent."""

import pytest

from schemas.errors import Refused
from services.comparisons import SAME_SUBJECTS, grid_points, run_sweep, sweep_results
from store.database import Connection, Database
from store.runs import forks
from tests.refusals import refused
from tests.stages.reports.builders import labels, scores
from tests.store.forkable import finish, forkable_run
from tests.store.scored import import_labels

PEOPLE = (316, 319, 320, 321)
TRUTH = {person: labels("22222222") for person in PEOPLE}


def test_a_grid_has_every_combination_once() -> None:
    assert grid_points({"A": ["1", "2", "1"], "B": ["x", "y"]}) == [
        {"A": "1", "B": "x"},
        {"A": "1", "B": "y"},
        {"A": "2", "B": "x"},
        {"A": "2", "B": "y"},
    ]


async def a_swept_run(database: Database) -> tuple[int, dict[int, dict[str, str]]]:
    """A parent whose items are 1 off, and two forks: one exact, the other 2 off. Every fork is finished."""
    async with database.connection() as connection:
        await import_labels(connection, TRUTH)
        parent = (await forkable_run(connection, dict.fromkeys(PEOPLE, scores("33333333")))).run_id
    points = grid_points({"RAGQ_SCORE_TEXT_CHARS": ["10", "20"]})
    made = await run_sweep(database, parent, "score", points, wait=False)
    runs = {run_id: dict(point) for run_id, point in made.items()}
    async with database.connection() as connection:
        for run_id, digits in zip(runs, ("22222222", "00000000"), strict=True):
            for job in await forks.parent_jobs(connection, run_id):
                await finish(connection, job.id, ("score",), scores(digits))
        assert await forks.unfinished(connection, list(runs)) == []
    return parent, runs


async def test_a_sweep_is_one_table_of_paired_differences(database: Database) -> None:
    parent, runs = await a_swept_run(database)
    exact, far = runs

    found = await sweep_results(database, parent, "score", runs)

    (result,) = found.results
    assert result.runs == (f"r{parent}", f"r{exact}", f"r{far}")
    assert result.settings == {"RAGQ_SCORE_TEXT_CHARS": (80, 10, 20)}
    assert [run.settings for run in result.compared] == [{"RAGQ_SCORE_TEXT_CHARS": 10}, {"RAGQ_SCORE_TEXT_CHARS": 20}]
    errors = [run.measures["zero_shot"]["item_mae_weighted"] for run in result.compared]
    assert [(one.baseline, one.value, one.delta.value) for one in errors] == [(1.0, 0.0, -1.0), (1.0, 2.0, 1.0)]
    assert len(result.movements) == len(PEOPLE) * 8
    assert result.movements[0].values == (3.0, 2.0, 0.0)
    (best,) = found.best
    assert (best.run_id, best.value, best.is_better) == (f"r{exact}", 0.0, True)
    assert found.warning == SAME_SUBJECTS
    with pytest.raises(Refused, match="There is no measure 'mae'"):
        await sweep_results(database, parent, "score", runs, measure="mae")
    assert found.points == {f"r{exact}": {"RAGQ_SCORE_TEXT_CHARS": "10"}, f"r{far}": {"RAGQ_SCORE_TEXT_CHARS": "20"}}
    # One that is repeated takes the forks that are stored.
    points = grid_points({"RAGQ_SCORE_TEXT_CHARS": ["10", "20", "30"]})
    made = list(await run_sweep(database, parent, "score", points, wait=False))
    assert (made[:2], len(made)) == ([exact, far], 3)


async def test_no_fork_is_stored_when_a_point_cannot_be(database: Database, connection: Connection) -> None:
    parent = (await forkable_run(connection, {316: scores("1")})).run_id
    points = grid_points({"RAGQ_SCORE_TEXT_CHARS": ["10"], "RAGQ_SCORE_INPUT": ["transcript"]})

    with refused("fork-refused"):
        await run_sweep(database, parent, "score", points)

    assert await connection.fetchval("SELECT count(*) FROM run") == 1
