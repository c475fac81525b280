"""Reads a run for its report, of whichever kind it is."""

from schemas.errors import RunMissingError
from schemas.values.query_runs import QueryRun
from schemas.values.scored_runs import ScoredRun
from store.database import Connection
from store.questions import query_runs
from store.runs import overviews, scored_runs


async def reported_run(connection: Connection, run_id: int) -> ScoredRun | QueryRun:
    """The run. Raises RunMissingError when there is none of that number, and Refused when nothing can be reported."""
    overview = await overviews.overview(connection, run_id)
    is_query = overview is not None and overview.kind == "query"
    run = await (query_runs.query_run if is_query else scored_runs.scored_run)(connection, run_id)
    if run is None:
        raise RunMissingError(run_id)
    return run
