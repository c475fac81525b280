"""What the Celery task of every stage does."""

from typing import Any

from celery.app import app_or_default
from celery.exceptions import Ignore

from workers import process
from workers.runner import Outcome


def run_stage(task: Any, stage: str, job_id: int) -> None:
    """Run one stage of one job in this process.

    Raises Ignore when this copy of the message ends here, which also ends its chain.
    """
    here = process.current(app_or_default(task.app))
    is_redelivered = bool((task.request.delivery_info or {}).get("redelivered"))
    if here.loop.run(here.runner.run(stage, job_id, is_redelivered=is_redelivered)) is Outcome.NOTHING_TO_DO:
        raise Ignore
