"""Makes the Celery task of a stage from the functions that compute it, one per kind of job."""

from collections.abc import Mapping
from typing import Any

from celery.app import app_or_default
from celery.exceptions import Ignore

from workers import process
from workers.runner import Outcome
from workers.work import Result, StageFunction, Work

#: Every stage that has a task, with its functions.
FUNCTIONS: dict[str, Mapping[str, StageFunction]] = {}


def define_stage(name: str, **functions: StageFunction) -> None:
    """Give a stage its function per kind of job: `define_stage("embed", participant=..., index=...)`."""
    FUNCTIONS[name] = functions


def by_mode(functions: Mapping[str, StageFunction]) -> StageFunction:
    """One function for a kind whose modes do different work in a stage: `by_mode({"references": ...})`."""

    async def of_mode(work: Work) -> Result:
        return await functions[work.claim.mode](work)

    return of_mode


def run_stage(task: Any, stage: str, job_id: int) -> None:
    """Run one stage of one job in this process; what every Celery task of ragq does.

    Raises Ignore when this copy of the message ends here, which also ends its chain.
    """
    here = process.current(app_or_default(task.app))
    is_redelivered = bool((task.request.delivery_info or {}).get("redelivered"))
    outcome = here.loop.run(here.runner.run(stage, job_id, FUNCTIONS[stage], is_redelivered=is_redelivered))
    if outcome is Outcome.NOTHING_TO_DO:
        raise Ignore
