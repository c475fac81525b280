"""Two runs compared, alike by the command and the page."""

import asyncio
from collections.abc import Mapping
from typing import Any

from schemas.errors import Refused
from schemas.values.differences import Difference
from schemas.values.measures import RetrievalMeasures
from schemas.values.phq8 import AssessmentMode
from schemas.values.query_runs import QueryRun
from schemas.values.retrieval_reports import RetrievalDifference
from schemas.values.run_names import run_number
from schemas.values.scored_runs import ScoredRun
from services.several_runs import refuse_other_data_sets
from stages.reports.cohorts import modes_of
from stages.reports.differences import RunInMode, difference
from stages.reports.measures import common_measures
from stages.reports.retrieval_differences import retrieval_difference
from store.database import Connection, Database
from store.runs import run_names
from store.views.reported_runs import reported_run


async def compare_runs(
    database: Database, a: str, b: str, *, mode: str | None = None, other_mode: str | None = None
) -> list[Difference] | RetrievalDifference:
    """Two runs by number or name. Raises RunMissingError, and Refused for words that stand for no run and where nothing
    can be compared.
    """
    async with database.connection() as connection:
        left, right = [await _run(connection, words) for words in (a, b)]
    return await asyncio.to_thread(_compared, left, right, mode, other_mode)


def compare_queries(left: QueryRun, right: QueryRun, measures: RetrievalMeasures) -> RetrievalDifference:
    """Two runs of queries, on the queries that both have."""
    return retrieval_difference(left, right, measures=measures)


def compare_scores(
    left: ScoredRun | QueryRun,
    right: ScoredRun | QueryRun,
    *,
    mode: str | None = None,
    other_mode: str | None = None,
    measures: Mapping[str, Any],
) -> list[Difference]:
    """Two scored runs in each mode that both have, or in one mode, or one mode of the left with another of the right.

    `measures` are those that were chosen; the runs have the others. Raises Refused for runs of two kinds, and where
    there is nothing to compare.
    """
    if isinstance(left, QueryRun) or isinstance(right, QueryRun):
        raise Refused(
            f"r{left.run_id} and r{right.run_id} are of two kinds: a run of queries compares with a run of queries."
        )
    refuse_other_data_sets([left, right])
    pairs = _pairs(left, right, mode, other_mode)
    found = common_measures(left, right, measures)
    return [difference(*pair, measures=found) for pair in pairs]


async def _run(connection: Connection, words: str) -> ScoredRun | QueryRun:
    run_id = run_number(words) or await run_names.find(connection, words)
    if run_id is None:
        raise Refused("A or B is neither the number nor the name of a run; the list of runs shows both.")
    return await reported_run(connection, run_id)


def _compared(
    left: ScoredRun | QueryRun, right: ScoredRun | QueryRun, mode: str | None, other_mode: str | None
) -> list[Difference] | RetrievalDifference:
    if isinstance(left, QueryRun) and isinstance(right, QueryRun):
        return compare_queries(left, right, RetrievalMeasures())
    if other_mode and not mode:
        raise Refused("Choose the mode of A too.")
    return compare_scores(left, right, mode=mode, other_mode=other_mode, measures={})


def _pairs(
    left: ScoredRun, right: ScoredRun, mode: str | None, other_mode: str | None
) -> list[tuple[RunInMode, RunInMode]]:
    if mode is not None:
        return [(_in_mode(left, mode), _in_mode(right, other_mode or mode))]
    common = [mode for mode in modes_of(left) if mode in modes_of(right)]
    if not common:
        raise Refused(
            f"r{left.run_id} has {_words(left)} and r{right.run_id} has {_words(right)}; "
            "choose a mode of each: --mode and --other-mode, or in the form."
        )
    return [(RunInMode(left, mode), RunInMode(right, mode)) for mode in common]


def _in_mode(run: ScoredRun, mode: str) -> RunInMode:
    if mode not in modes_of(run):
        raise Refused(f"Run r{run.run_id} has no jobs in mode {mode}; it has {_words(run)}.")
    return RunInMode(run, AssessmentMode(mode))


def _words(run: ScoredRun) -> str:
    return " and ".join(modes_of(run))
