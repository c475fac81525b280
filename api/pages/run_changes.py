"""Name, note, priority and deletion of a run: forms, and the page again with the result."""

from typing import Annotated

from fastapi import APIRouter, Form, Query
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from api.context import Context
from api.pages.forms import Typed
from api.parameters import PathId
from api.routes import PageRoute
from api.security.csrf import CheckedForm
from schemas.statuses import Priority
from services.runs import RunChanges, change_run, delete_run

router = APIRouter(route_class=PageRoute, include_in_schema=False)

Count = Annotated[int, Field(ge=0, lt=2**63)]


class Deletion(BaseModel):
    """What was deleted with a run, and what was kept, in the query of the address of the list."""

    deleted: Count | None = None
    """The number of the run."""
    jobs: Count = 0
    questions: Count = 0
    answers: Count = 0
    calls: Count = 0
    kept_calls: Count = 0
    kept_indexes: Count = 0


LastDeletion = Annotated[Deletion, Query()]


@router.post("/runs/{run_id}/describe")
async def describe(
    ctx: Context,
    _form: CheckedForm,
    run_id: PathId,
    name: Annotated[Typed, Form(max_length=200)] = "",
    note: Annotated[Typed, Form(max_length=4000)] = "",
    priority: Annotated[Priority | None, Form()] = None,
) -> Response:
    """Store name, note and priority of a run; an empty name or note removes what was there."""
    changes: RunChanges = {"name": name.strip() or None, "note": note.strip() or None}
    if priority is not None:
        changes["priority"] = priority
    async with ctx.database.connection() as connection:
        await change_run(connection, run_id, changes)
    return RedirectResponse(f"/runs/{run_id}?described=true", 303)


@router.post("/runs/{run_id}/delete")
async def delete(ctx: Context, _form: CheckedForm, run_id: PathId) -> Response:
    """Delete a run that is not active, and return to the list."""
    async with ctx.database.connection() as connection:
        done = await delete_run(connection, run_id)
    counts = {name: getattr(done, name) for name in ("jobs", "questions", "answers", "calls", "kept_calls")}
    counts |= {"deleted": done.run_id, "kept_indexes": len(done.kept_indexes)}
    return RedirectResponse("/runs?" + "&".join(f"{name}={count}" for name, count in counts.items()), 303)
