"""The cost of a run of any kind."""

from typing import TYPE_CHECKING

from schemas.values.costs import RunCost
from stages.reports.costs import run_cost
from store.database import Connection
from store.runs import call_costs

if TYPE_CHECKING:
    from schemas.values.prices import Prices


async def cost_of_run(
    connection: Connection, run_id: int, prices: "Prices | None" = None, *, by_job: bool = False
) -> RunCost:
    """The cost of a run up to now, on request of each of its jobs too."""
    attempts = await call_costs.stage_work(connection, run_id, by_job=by_job)
    calls = await call_costs.stage_calls(connection, run_id, by_job=by_job)
    retried = await call_costs.retried_stages(connection, run_id)
    return run_cost(attempts, calls, retried, await call_costs.copied_stages(connection, run_id), prices)
