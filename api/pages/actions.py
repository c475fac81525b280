"""What people decide about runs and jobs on their pages: a form, and the page again with what came of it."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Form, Query
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext
from schemas.statuses import JobStatus
from services.control import Action, control
from store.runs.job_control import Target

Note = Annotated[str, Form(max_length=2000)]

#: The states in which a decision concerns a job.
_CONCERNED = {
    Action.RETRY: (JobStatus.FAILED, JobStatus.POISONED),
    Action.RESUME: (JobStatus.PAUSED,),
    Action.PAUSE: (JobStatus.WAITING, JobStatus.RUNNING, JobStatus.INTERRUPTED),
    Action.CANCEL: (JobStatus.WAITING, JobStatus.RUNNING, JobStatus.INTERRUPTED, JobStatus.PAUSED),
}


class ActionResult(BaseModel):
    """What a decision came to, as the address of the page tells it."""

    action: Action | None = None
    jobs: int = Field(default=0, ge=0, lt=2**63)
    sent: bool = True


LastAction = Annotated[ActionResult, Query()]


def possible(states: Mapping[JobStatus, int]) -> dict[Action, int]:
    """The decisions that would change something, each with how many jobs it concerns."""
    counts = {action: sum(states.get(status, 0) for status in concerned) for action, concerned in _CONCERNED.items()}
    return {action: count for action, count in counts.items() if count}


async def decide(ctx: ApiContext, target: Target, action: Action, note: str, *, back_to: str) -> Response:
    """Carry a decision out and lead back to a page."""
    decided = await control(ctx.broker, ctx.database, target, action, note=note.strip() or None)
    query = f"action={action}&jobs={len(decided.job_ids)}&sent={str(decided.is_sent).lower()}"
    return RedirectResponse(f"{back_to}?{query}", 303)
