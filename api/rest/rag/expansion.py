"""New questions: the prompt for their expansion, and the expansion by the model or pasted."""

from fastapi import APIRouter, Response

from api.context import ApiContext, Context
from api.preferences import REPLAYED, Keyed, Wait
from api.problems import problem_responses
from api.rest.bodies.rag_expansion import Expanded, ExpansionPrompt, ExpansionRequest, PastedExpansion
from api.rest.rag.waited import Awaited, pending_response, step_responses, superseded
from api.rest.strict import StrictRoute
from schemas.errors import ExpansionFailedError, StepFailedError
from schemas.values.queries import Expansion, Origin
from services.questions.ask import ask, preview_expansion_prompt, single_query
from services.questions.submission import QueryRequest
from services.questions.withdrawal import withdraw
from store.questions.query_view import query_view

router = APIRouter(prefix="/rag/expansion", tags=["questions"], route_class=StrictRoute)


@router.post("/prompt", summary="Show the prompt of an expansion", responses=problem_responses(404, 422))
async def show_expansion_prompt(ctx: Context, body: ExpansionRequest) -> ExpansionPrompt:
    """The prompt that asks an external model for an expansion; nothing is stored, and no model is called."""
    async with ctx.database.connection() as connection:
        prompt, n = await preview_expansion_prompt(connection, body.question, preset=body.config_preset, n=body.n)
    return ExpansionPrompt(prompt=prompt, query=body.question, original_query=body.question, n=n)


@router.post(
    "/run",
    summary="Ask a question and expand it",
    response_model=Expanded,
    responses=step_responses(400, 404, 409, 422, 500),
)
async def run_expansion(
    ctx: Context, wait: Wait, key: Keyed, body: ExpansionRequest, response: Response
) -> Expanded | Response:
    """Store a question and have the model write search phrases, a hypothetical answer (HyDE), intent and entities.

    400 when the model's reply is invalid. Nothing is stored then, nor after another failure that this request replies
    with.
    """
    request = QueryRequest(
        queries=single_query(body.question),
        corpora=body.all_corpora,
        works=body.work_filter,
        preset=body.config_preset,
        preset_values={} if body.n is None else {"expansion.n": str(body.n)},
        until="expand",
        use_light_model=body.use_full_model is False,
    )
    async with ctx.database.connection() as connection:
        stored = await ask(connection, request, ctx.run_settings(), key=key)
    headers = {} if stored.is_new else REPLAYED
    asked = Awaited(stored.query_id, stored.run_id, stored.job_id)
    expanded = None if stored.is_new else await _read(ctx, asked)
    if expanded is None:
        try:
            if pending := await pending_response(ctx, asked, wait, headers=headers):
                return pending
        except StepFailedError as error:
            async with ctx.database.connection() as connection:
                if not await withdraw(connection, asked.query_id, key=key):
                    raise
            raise ExpansionFailedError(error.error_type, error.error_message) from None
        expanded = await _read(ctx, asked)
    if expanded is None:
        raise superseded(asked.query_id)
    response.headers.update(wait.headers | headers)
    return expanded


@router.post(
    "/manual", summary="Ask a question with a pasted expansion", responses=problem_responses(400, 404, 409, 422)
)
async def save_manual_expansion(ctx: Context, key: Keyed, body: PastedExpansion, response: Response) -> Expanded:
    """Store a question with the reply of an external model. 400 when the reply is invalid: nothing is stored."""
    request = QueryRequest(
        queries=single_query(body.question),
        corpora=body.all_corpora,
        works=body.work_filter,
        preset=body.config_preset,
        expansion_reply=body.reply,
        until="expand",
    )
    async with ctx.database.connection() as connection:
        stored = await ask(connection, request, ctx.run_settings(), key=key)
    expanded = await _read(ctx, Awaited(stored.query_id, stored.run_id, stored.job_id))
    if expanded is None:
        raise superseded(stored.query_id)
    response.headers.update({} if stored.is_new else REPLAYED)
    return expanded


async def _read(ctx: ApiContext, asked: Awaited) -> Expanded | None:
    """The expansion of a question; None while none is stored."""
    async with ctx.database.connection() as connection:
        view = await query_view(connection, asked.query_id)
    if view is None or view.expansion is None:
        return None
    return Expanded(
        **asked._asdict(),
        message=_message(view.expansion),
        original_query=view.line.original_query,
        expanded_queries=list(view.expansion.queries),
        hyde_answer=view.expansion.hyde_answer,
        intent=view.expansion.intent,
        entities=list(view.expansion.entities),
    )


def _message(expansion: Expansion) -> str:
    if expansion.origin is Origin.NONE:
        return "Query created; its preset skips expansion"
    return "Query created successfully"
