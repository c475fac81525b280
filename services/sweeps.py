"""Sweeps: forks of a run at every point of a grid, compared with the run."""

import asyncio
import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from schemas.errors import Refused, RunMissingError
from schemas.values.costs import Prices
from schemas.values.differences import BestRun, SeveralRuns, Sweep
from schemas.values.estimates import Estimate
from schemas.values.runs import Target
from services.estimates import estimate_fork
from services.forks import Forked, ForkRequest, fork, plan_fork
from services.several_runs import MOST, compare_several, have_common_members
from stages.reports.several_runs import best_of, default_measure
from stages.texts.ids import listed
from store.database import Database
from store.runs import forks, stored_runs

Point = Mapping[str, str]

MOST_POINTS: Final = MOST - 1

_POLL_S: Final = 0.5

SAME_SUBJECTS: Final = (
    "The best point was chosen on the same subjects that it is reported on, so its advantage is too large. "
    "--select-on SPLIT --report-on SPLIT choose on some participants and report on others."
)


class PointEstimate(NamedTuple):
    """A point of a sweep, and what its fork would do."""

    values: Point
    estimate: Estimate


class SweepPoint(NamedTuple):
    """A point of a sweep, and its fork."""

    values: Point
    forked: Forked


def grid_points(grid: Mapping[str, Sequence[str]], *, sample: int | None = None, seed: int = 42) -> list[Point]:
    """Every combination of the values, the last name varying fastest; with `sample`, that many of them at random.

    Raises Refused for a grid without values, and for more points than one comparison takes.

    >>> grid_points({"A": ["1", "2"], "B": ["3"]})
    [{'A': '1', 'B': '3'}, {'A': '2', 'B': '3'}]
    """
    if not grid or not all(grid.values()):
        raise Refused("A sweep needs a grid: `--grid NAME=VALUE,VALUE`.")
    points: list[Point] = [
        dict(zip(grid, values, strict=True))
        for values in itertools.product(*(dict.fromkeys(of) for of in grid.values()))
    ]
    if sample is not None and sample < len(points):
        points = random.Random(seed).sample(points, sample)
    if len(points) > MOST_POINTS:
        raise Refused(
            f"The grid has {len(points)} points; a sweep takes {MOST_POINTS} at most. `--random N` takes some."
        )
    return points


async def run_sweep(
    database: Database,
    target: Target,
    stage: str,
    points: Sequence[Point],
    *,
    at_once: int | None = None,
    on_fork: Callable[[SweepPoint], None] = lambda _: None,
    wait: bool = True,
) -> list[SweepPoint]:
    """A fork for each point, at most `at_once` of them unfinished at a time; waits for all unless `wait` is false.

    Every point is checked before the first is stored. A point whose fork is stored already takes that one, so that a
    sweep that was interrupted continues. Raises as `plan_fork` does.
    """
    async with database.connection() as connection:
        for point in points:
            await plan_fork(connection, ForkRequest(target=target, stage=stage, values=point))
    made: list[SweepPoint] = []
    for point in points:
        if at_once is not None:
            await _until(database, made, lambda unfinished: len(unfinished) < at_once)
        found = await fork(database, ForkRequest(target=target, stage=stage, values=point))
        made.append(SweepPoint(point, found))
        on_fork(made[-1])
    if wait:
        await _until(database, made, lambda unfinished: not unfinished)
    return made


async def estimate_sweep(
    database: Database, target: Target, stage: str, points: Sequence[Point], *, prices: Prices | None = None
) -> list[PointEstimate]:
    """What the fork at each point would do. Nothing is stored or sent. Raises as `plan_fork` does."""
    return [
        PointEstimate(
            point, await estimate_fork(database, ForkRequest(target=target, stage=stage, values=point), prices=prices)
        )
        for point in points
    ]


async def stored_points(database: Database, parent_id: int, stage: str, names: Sequence[str]) -> dict[int, Point]:
    """The forks of a run from a stage that set these settings, with their values; of equal ones the newest.

    Raises RunMissingError, and Refused where there are none, or more than one comparison takes.
    """
    async with database.connection() as connection:
        if not await stored_runs.exists(connection, run_id=parent_id):
            raise RunMissingError(parent_id)
        found = await forks.of_settings(connection, parent_id, stage, names)
    newest = {tuple(point.values()): run_id for run_id, point in found.items()}
    if not 1 <= len(newest) <= MOST_POINTS:
        raise Refused(
            f"Run r{parent_id} has {len(newest)} forks from stage '{stage}' that set {listed(sorted(names))}; "
            f"1 to {MOST_POINTS} can be compared. `ragq sweep r{parent_id}` forks it at the points of a grid."
        )
    return {run_id: found[run_id] for run_id in sorted(newest.values())}


async def sweep_results(
    database: Database,
    parent_id: int,
    stage: str,
    points: Mapping[int, Point],
    *,
    measure: str | None = None,
    mode: str | None = None,
    select_on: str | None = None,
    report_on: str | None = None,
) -> Sweep:
    """The forks compared with their parent, and the best of them.

    With `select_on` the best is chosen on the participants of that split, and everything is reported on those of
    `report_on`. Raises as `compare_several` does, and Refused for splits that have participants in common.
    """
    run_ids = [parent_id, *points]
    if (select_on is None) != (report_on is None):
        raise Refused("--select-on and --report-on go together.")
    results = await compare_several(database, run_ids, mode=mode, split=report_on)
    async with database.connection() as connection:
        unfinished = await forks.unfinished(connection, list(points))
    chosen = results if select_on is None else await compare_several(database, run_ids, mode=mode, split=select_on)
    if select_on is not None and report_on is not None and await have_common_members(database, select_on, report_on):
        raise Refused(
            f"Splits '{select_on}' and '{report_on}' have participants in common, so the report would be on those "
            "that the best point was chosen on."
        )
    best = [_best(one, reported, measure, select_on) for one, reported in zip(chosen, results, strict=True)]
    return Sweep(
        parent=f"r{parent_id}",
        stage=stage,
        points={f"r{run_id}": dict(point) for run_id, point in points.items()},
        best=tuple(one for one in best if one is not None),
        warning=SAME_SUBJECTS
        if select_on is None
        else f"The best point was chosen on split '{select_on}'; everything is reported on split '{report_on}'.",
        results=tuple(results),
        unfinished=tuple(f"r{run_id}" for run_id in unfinished),
    )


def _best(chosen: SeveralRuns, reported: SeveralRuns, measure: str | None, select_on: str | None) -> BestRun | None:
    return best_of(chosen, measure or default_measure(reported), chosen_on=select_on)


async def _until(database: Database, made: Sequence[SweepPoint], is_reached: Callable[[Sequence[int]], bool]) -> None:
    run_ids = [point.forked.submitted.run_id for point in made]
    while True:
        async with database.connection() as connection:
            unfinished = await forks.unfinished(connection, run_ids)
        if is_reached(unfinished):
            return
        await asyncio.sleep(_POLL_S)
