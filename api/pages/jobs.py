"""`/jobs/{id}`: a job with its lineage from the result back to its inputs, every attempt and every call."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from markupsafe import Markup
from pydantic import ValidationError
from starlette.responses import Response

from api.context import Context
from api.pages.forms import LastAction, act, possible
from api.pages.results import answer_html
from api.parameters import PathId
from api.rendering import page
from api.routes import PageRoute
from api.security.csrf import CheckedForm
from schemas.chains import output_of
from schemas.values.base import MAX_ID, Value
from schemas.values.participants import PHQ8Item
from schemas.values.queries import Answer, AugmentedPrompt
from schemas.values.runs import Target
from services.runs import Action
from store.corpora import works
from store.runs import forks, overviews
from store.views import JobTrace, StageTrace, job_trace

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/jobs/{job_id}")
async def job_page(request: Request, ctx: Context, job_id: PathId, last_action: LastAction) -> Response:
    """The present state of the job."""
    async with ctx.database.connection() as connection:
        job = await job_trace(connection, job_id)
        run = await overviews.get(connection, job.run_id)
        document = (await works.lines(connection, [job_id])).get(job_id)
        parent_job = await forks.parent_job(connection, job_id)
    outputs = {stage.stage: _output(job, stage) for stage in job.stages if stage.current is not None}
    return page(
        request,
        "job.html.j2",
        job=job,
        run=run,
        parent_job=parent_job,
        document=document,
        outputs=outputs,
        answer=_answer(outputs),
        phq8=list(PHQ8Item),
        possible=possible({job.status: 1}),
        last_action=last_action,
        flower=None if ctx.flower_url is None else ctx.flower_url.rstrip("/"),
    )


@router.post("/jobs/{job_id}/{action}")
async def act_on_job(
    ctx: Context,
    _form: CheckedForm,
    job_id: PathId,
    action: Action,
    back_to_run: Annotated[int | None, Form(ge=1, le=MAX_ID)] = None,
) -> Response:
    """Retry, pause, resume or cancel a job, and return to its page, or to that of its run."""
    back_to = f"/jobs/{job_id}" if back_to_run is None else f"/runs/{back_to_run}"
    return await act(ctx, Target(None, job_id), action, back_to=back_to)


def _answer(outputs: Mapping[str, Value | dict[str, Any]]) -> Markup | None:
    """The answer of a question, with its citations linked to the sources of its prompt below."""
    generated, prompt = outputs.get("generate"), outputs.get("augment")
    if not isinstance(generated, Answer):
        return None
    sources = prompt.sources if isinstance(prompt, AugmentedPrompt) else ()
    return answer_html(generated.text, [source.label for source in sources])


def _output(job: JobTrace, stage: StageTrace) -> Value | dict[str, Any]:
    """The output of a stage as its value; as plain fields where this version of ragq cannot read it."""
    assert stage.current is not None and stage.current.output is not None
    kept = stage.current.output
    value = output_of(job.kind, job.mode, stage.stage)
    if value is None:
        return kept
    try:
        return value.model_validate(kept)
    except ValidationError:
        return kept
