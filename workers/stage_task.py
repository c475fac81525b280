"""Makes the Celery task of a stage from the functions that compute it, one per kind of job."""

from collections.abc import Mapping
from typing import Any

from celery.app import app_or_default
from celery.exceptions import Ignore

from workers import process
from workers.frame import Ending
from workers.work import StageFunction

#: Every stage that has a task, with its functions.
FUNCTIONS: dict[str, Mapping[str, StageFunction]] = {}


def define_stage(name: str, **functions: StageFunction) -> None:
    """Give a stage its function per kind of job: `define_stage("embed", participant=..., index=...)`."""
    FUNCTIONS[name] = functions


def run_stage(task: Any, stage: str, job_id: int) -> None:
    """Run one stage of one job in this process; what every Celery task of ragq does.

    Raises Ignore when this copy of the message ends here, which also ends its chain.
    """
    here = process.current(app_or_default(task.app))
    is_redelivered = bool((task.request.delivery_info or {}).get("redelivered"))
    ending = here.loop.run(here.frame.run(stage, job_id, FUNCTIONS[stage], is_redelivered=is_redelivered))
    if ending is Ending.NOTHING_TO_DO:
        raise Ignore
