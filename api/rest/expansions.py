"""The expansion of a question: its prompt, its run, and one that was written elsewhere."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Response
from pydantic import AliasChoices, Field

from api.context import Context
from api.parameters import Keyed, WaitPreference
from api.rest.base import Body, Reply, StrictRoute, with_example
from api.rest.steps import ACCEPTED, StepDone, Waiting, Waits, ids_of
from schemas.errors import StepFailedError
from schemas.values.base import Text
from schemas.values.queries import Origin
from schemas.values.requests import QueryRequest, Question, Searched
from services.questions.edits import ask, preview_expansion_prompt, withdraw
from stages.queries.query_files import single_query
from store.access import RequestKey
from store.database import Connection
from store.questions.query_runs import query_view

REPLY_CHARS: Final = 100_000
"""The longest pasted expansion."""

_QUESTION: Final = "What is working memory?"

_REPLY: Final = (
    '{"queries": ["capacity of working memory in adults"], "hyde_answer": "Working memory is a cognitive system...", '
    '"intent": "DEFINITION", "entities": ["working memory"]}'
)


class Asked(Searched, Body):
    """A question to a corpus."""

    question: Question = Field(validation_alias=AliasChoices("original_query", "query"), repr=False)
    """May also be called `query`."""
    config_preset: Annotated[Text, Field(min_length=1, max_length=100)] | None = None
    """The preset; by default the default preset."""


class ExpansionRequest(Asked):
    """A question to expand."""

    model_config = with_example(original_query=_QUESTION, n=3, use_full_model=True)

    n: Annotated[int, Field(ge=1, le=10)] | None = None
    """The number of search phrases; by default that of the preset."""
    use_full_model: bool | None = None
    """False: RAGQ_QUERY_LIGHT_MODEL expands, where it is set; true or absent: RAGQ_QUERY_MODEL."""


class PastedExpansion(Asked):
    """A question with the reply of an external model."""

    model_config = with_example(original_query=_QUESTION, llm_response=_REPLY)

    reply: Annotated[Text, Field(min_length=1, max_length=REPLY_CHARS)] = Field(
        validation_alias=AliasChoices("llm_response", "response_text"), repr=False
    )
    """One JSON object, with or without a code fence; may also be called `response_text`."""


class ExpansionPrompt(Reply):
    """The prompt for an external model."""

    prompt: str = Field(repr=False)
    query: str = Field(repr=False)
    original_query: str = Field(repr=False)
    """The same as `query`."""
    n: int


class Expanded(StepDone):
    """A stored question with its expansion."""

    original_query: str = Field(repr=False)
    expanded_queries: list[str] = Field(repr=False)
    hyde_answer: str = Field(repr=False)
    intent: str | None
    entities: list[str] = Field(repr=False)


router = APIRouter(prefix="/rag/expansion", tags=["questions"], route_class=StrictRoute)


@router.post("/prompt")
async def show_expansion_prompt(ctx: Context, body: ExpansionRequest) -> ExpansionPrompt:
    """The prompt that asks an external model for an expansion; nothing is stored, and no model is called."""
    prompt, n = await ctx.database.once(preview_expansion_prompt, body.question, preset=body.config_preset, n=body.n)
    return ExpansionPrompt(prompt=prompt, query=body.question, original_query=body.question, n=n)


@router.post("/run", response_model=Expanded, responses=ACCEPTED)
async def run_expansion(waiting: Waits, key: Keyed, body: ExpansionRequest) -> Expanded | Response:
    """Store a question and have the model write search phrases, a hypothetical answer (HyDE), intent and entities.

    400 when the model's reply is invalid. Nothing is stored then, nor after another failure that this request replies
    with.
    """
    values = {} if body.n is None else {"expansion.n": str(body.n)}
    try:
        return await _expand(waiting, key, body, preset_values=values, use_full_model=body.use_full_model)
    except StepFailedError as error:
        if error.query_id is None or not await waiting.ctx.database.once(withdraw, error.query_id, key=key):
            raise
        raise StepFailedError(None, None, error.stage, error.error_type, error.error_message) from None


@router.post("/manual", response_model=Expanded)
async def save_manual_expansion(
    ctx: Context, key: Keyed, body: PastedExpansion, response: Response
) -> Expanded | Response:
    """Store a question with the reply of an external model. 400 when the reply is invalid: nothing is stored."""
    return await _expand(Waiting(ctx, WaitPreference(0.0, None), response), key, body, expansion_reply=body.reply)


async def _expand(waiting: Waiting, key: RequestKey | None, body: Asked, **more: Any) -> Expanded | Response:
    """Store a question up to its expansion, and wait for it."""
    where = {"corpora": body.all_corpora, "works": body.works, "config_preset": body.config_preset}
    request = QueryRequest(queries=single_query(body.question), until="expand", **where, **more)
    asked, is_new = await waiting.ctx.database.once(ask, request, waiting.ctx.run_settings(), key=key)

    async def read(connection: Connection) -> Expanded | None:
        view = await query_view(connection, asked.id)
        if view.expansion is None:
            return None
        is_skipped = view.expansion.origin is Origin.NONE
        return Expanded(
            **ids_of(view.line),
            message="Query created; its preset skips expansion" if is_skipped else "Query created successfully",
            original_query=view.line.original_query,
            expanded_queries=list(view.expansion.queries),
            hyde_answer=view.expansion.hyde_answer,
            intent=view.expansion.intent,
            entities=list(view.expansion.entities),
        )

    return await waiting.reply(asked, read, is_new=is_new)
