"""Actions on runs and jobs: a form, and the page again with the result."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Form, Query
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext
from schemas.statuses import JobStatus
from schemas.values.runs import RunLimits, Target
from services.runs import NO_LIMITS, Action, control

Note = Annotated[str, Form(max_length=2000)]

#: The states of jobs that an action applies to.
_APPLIES_TO = {
    Action.RETRY: (JobStatus.FAILED, JobStatus.POISONED),
    Action.RESUME: (JobStatus.PAUSED,),
    Action.PAUSE: (JobStatus.WAITING, JobStatus.RUNNING, JobStatus.INTERRUPTED),
    Action.CANCEL: (JobStatus.WAITING, JobStatus.RUNNING, JobStatus.INTERRUPTED, JobStatus.PAUSED),
}


class ActionResult(BaseModel):
    """The result of an action, in the query of the page's address."""

    action: Action | None = None
    jobs: int = Field(default=0, ge=0, lt=2**63)


LastAction = Annotated[ActionResult, Query()]


def possible(states: Mapping[JobStatus, int]) -> dict[Action, int]:
    """The actions that would change something, each with the number of jobs it applies to."""
    counts = {action: sum(states.get(status, 0) for status in applicable) for action, applicable in _APPLIES_TO.items()}
    return {action: count for action, count in counts.items() if count}


async def act(
    ctx: ApiContext, target: Target, action: Action, note: str, *, back_to: str, limits: RunLimits = NO_LIMITS
) -> Response:
    """Carry out an action and redirect to a page."""
    done = await control(ctx.database, target, action, note=note.strip() or None, limits=limits)
    query = f"action={action}&jobs={len(done.job_ids)}"
    return RedirectResponse(f"{back_to}?{query}", 303)
