"""The answer to a question: its prompt, its run, and one that was written elsewhere."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field

from api.context import Context
from api.parameters import REPLAYED, Keyed, PathId
from api.rest.base import Body, Reply, StrictRoute, with_example
from api.rest.steps import ACCEPTED, ConfigPreset, StepDone, StepOptions, Waiting, Waits, ids_of, values_of
from schemas.errors import QueryValueError
from schemas.values.base import Text
from schemas.values.queries import ContextSource, Source
from services.questions import edits
from services.questions.steps import Step, run_stages
from store.access import RequestKey, once
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredResult

TopN = Annotated[int, Field(ge=1, le=20)]
"""The number of sources in the prompt; by default that of the preset."""

ANSWER_CHARS: Final = 200_000
"""The longest pasted answer."""


class RunOptions(StepOptions):
    """The values that a question runs with to its answer."""

    model_config = with_example(settings={"retrieval.min_word_count": 0}, top_n=3)

    top_n: TopN | None = None
    """The number of sources in the prompt; by default that of the preset."""
    use_full_model: bool | None = None
    """False: RAGQ_QUERY_LIGHT_MODEL of the run expands and answers; true or absent: RAGQ_QUERY_MODEL."""


class AnswerRequest(RunOptions):
    """Options of a new answer."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"top_n": 5, "use_full_model": False}, {"force": True}]})

    force: bool | None = None
    """Accepted without effect: each request makes a new answer, and earlier ones are kept."""


class Answered(StepDone, StoredResult):
    """A new answer."""

    result_id: int
    """The same as `id`."""


class PastedAnswer(Body):
    """An answer of an external model."""

    model_config = with_example(response_text="Working memory is a cognitive system...", top_n=5)

    response_text: Annotated[Text, Field(min_length=1, max_length=ANSWER_CHARS)] = Field(repr=False)
    top_n: TopN | None = None
    """The number of sources in its prompt; by default that of the prompt that was shown last."""


class AnswerSaved(Reply):
    """A pasted answer is stored."""

    query_id: int
    result_id: int
    success: Literal[True] = True
    message: str


class PromptReply(Reply):
    """The prompt that asks for the answer, with its sources."""

    query_id: int
    original_query: str = Field(repr=False)
    prompt: str = Field(repr=False)
    context_count: int
    """Sources in the prompt."""
    context_source: ContextSource
    """Their origin: `consolidated`, `retrieved` without a consolidation, or `empty`."""
    available_context_count: int
    """Sources that are available for the prompt."""
    sources: list[Source]


TopNQuery = Annotated[
    int | None,
    Query(ge=1, le=20, description="The number of sources in the prompt; by default that of the preset.", examples=[5]),
]

router = APIRouter(prefix="/rag/queries/{query_id}", tags=["questions"], route_class=StrictRoute)


@router.get("/augment/prompt")
async def show_prompt(
    query_id: PathId, ctx: Context, top_n: TopNQuery = None, config_preset: ConfigPreset = None
) -> PromptReply:
    """The prompt that an answer would be asked with now, and its sources; no model is called.

    An answer that is pasted without `top_n` belongs to the prompt that was shown last. Before consolidation its
    sources are the retrieved chunks, and `context_source` is `retrieved`. 404 before a search.
    """
    async with ctx.database.connection() as connection:
        query = await queries.get(connection, query_id)
        augmented = await edits.show_prompt(connection, query, preset=config_preset, top_n=top_n)
    return PromptReply(
        query_id=query.id,
        original_query=query.original_query,
        prompt=augmented.prompt,
        context_count=len(augmented.sources),
        context_source=augmented.context_source,
        available_context_count=augmented.available,
        sources=list(augmented.sources),
    )


@router.post("/augment/run", response_model=Answered, responses=ACCEPTED)
async def run_augmented_prompt(
    query_id: PathId,
    waiting: Waits,
    key: Keyed,
    body: AnswerRequest | None = None,
    config_preset: ConfigPreset = None,
    top_n: TopNQuery = None,
) -> Answered | Response:
    """Build the prompt and ask the model. Each request makes a new answer; earlier answers are kept.

    `top_n` may be in the query or in the body.
    """
    return await _answer(waiting, key, query_id, Step.ANSWER, **_answer_values(body, config_preset, top_n))


@router.post("/run", response_model=Answered, responses=ACCEPTED)
async def run_query(
    query_id: PathId,
    waiting: Waits,
    key: Keyed,
    body: RunOptions | None = None,
    config_preset: ConfigPreset = None,
    top_n: TopNQuery = None,
) -> Answered | Response:
    """Run every stage from the first that is not done, has failed, or had other values, to the answer.

    Workers run them: work continues when the client disconnects. 409 when every stage is done.
    """
    return await _answer(waiting, key, query_id, None, **_answer_values(body, config_preset, top_n))


@router.post("/augment/manual")
async def save_manual_response(
    query_id: PathId, ctx: Context, key: Keyed, body: PastedAnswer, response: Response
) -> AnswerSaved:
    """Store the answer of an external model as a new answer, with the sources of its prompt.

    404 before a search. Before consolidation its sources are the retrieved chunks.
    """
    result_id, is_new = await ctx.database.once(
        edits.answer, query_id, body.response_text, top_n=body.top_n, as_shown=True, key=key
    )
    response.headers.update({} if is_new else REPLAYED)
    return AnswerSaved(query_id=query_id, result_id=result_id, message="Response saved successfully")


def _answer_values(body: RunOptions | None, config_preset: str | None, top_n: int | None) -> dict[str, Any]:
    asked = body or RunOptions()
    if None not in (top_n, asked.top_n) and top_n != asked.top_n:
        raise QueryValueError("top_n", "differs between the query and the body; give it once")
    return values_of(config_preset, asked) | {
        "top_n": asked.top_n if top_n is None else top_n,
        "use_light_model": asked.use_full_model is False,
    }


async def _answer(
    waiting: Waiting, key: RequestKey | None, query_id: int, step: Step | None, **values: Any
) -> Answered | Response:
    """Continue a question to an answer, once per key, and wait for it."""

    async def make(connection: Connection) -> Mapping[str, Any]:
        after = await queries.newest_result(connection, query_id)
        made = await run_stages(connection, query_id, step, **values)
        return {"run": made.run_id, "job": made.job_id, "after": after}

    async with waiting.ctx.database.connection() as connection:
        made, is_new = await once(connection, key, make)
        query = await queries.get(connection, query_id)
    asked = query.model_copy(update={"run_id": made["run"], "job_id": made["job"]})

    async def read(connection: Connection) -> Answered | None:
        """The first answer of the job after those that there were."""
        await queries.get(connection, query_id)
        result_id = await queries.made_result(connection, query_id, job_id=asked.job_id, after=made["after"])
        if result_id is None:
            return None
        result = await queries.result(connection, query_id, result_id)
        done = {"message": "Response saved successfully", "result_id": result.id}
        return Answered(**vars(result) | ids_of(asked) | done)

    return await waiting.reply(asked, read, is_new=is_new)
