"""The steps of a question from its vectors to its answer. The request waits as long as the client prefers."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal, NamedTuple

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field
from starlette.responses import JSONResponse

from api.context import ApiContext, Context
from api.event_streams import wait_until_idle
from api.parameters import REPLAYED, Keyed, PathId, Wait, WaitPreference
from api.rest.base import Body, Reply, StrictRoute, with_example
from schemas.errors import QueryValueError, Refused, StepFailedError, query_missing
from schemas.statuses import JobStatus, VectorStatus
from schemas.values.base import Text
from schemas.values.queries import ContextSource, Leg, QueryText, Source
from services.questions import edits
from services.questions.steps import Step, run_stages
from store.access import RequestKey, once
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery, StoredResult
from store.questions.query_runs import QueryView, query_view
from store.runs import jobs


class Awaited(NamedTuple):
    """A question and the job that a request waits for."""

    query_id: int
    run_id: int
    job_id: int


TopN = Annotated[int, Field(ge=1, le=20)]
"""The number of sources in the prompt; by default that of the preset."""

SettingName = Annotated[str, Field(pattern=r"^[a-z_.0-9]{1,100}$", examples=["retrieval.min_word_count"])]
"""The name of a value of a preset."""

ANSWER_CHARS: Final = 200_000
"""The longest pasted answer."""


class Started(Reply):
    """A step that is running. `GET /jobs/{job_id}` shows when it is done; it needs no client to wait for it."""

    query_id: int
    run_id: int
    job_id: int
    status: JobStatus
    message: str


class StepDone(Reply):
    """The fields of the reply of every finished step."""

    query_id: int
    run_id: int
    job_id: int
    success: Literal[True] = True
    message: str


class Embedded(StepDone):
    """The vectors of the question, its search phrases and its hypothetical answer (HyDE) are stored."""

    vector_status: Literal[VectorStatus.VEC] = VectorStatus.VEC
    total_embeddings: int
    original_count: int
    mqe_count: int
    hyde_count: int


class Retrieved(StepDone):
    """Chunks were retrieved, ranked and selected."""

    chunks_retrieved: int
    total_dense_candidates: int
    """Hits of all searches by vector; a chunk counts once per search."""
    total_lexical_candidates: int
    """Likewise of all full-text searches."""
    rrf_candidates: int
    """Chunks after fusion."""
    final_count: int
    """The same as `chunks_retrieved`."""
    dropped_chunks: dict[str, int]
    """Chunks that a filter dropped for their length: `min_chars`, `min_words` or `blank`."""
    kept_short: dict[str, int]
    """Chunks that a filter would have dropped, kept because no longer one was found."""


class Consolidated(StepDone):
    """Adjacent chunks were merged into passages."""

    original_count: int
    consolidated_count: int
    """Passages that are available for a prompt."""
    dropped_passages: int
    """Passages that were dropped as shorter than `consolidation.min_content_length`."""


class NoOptions(Body):
    """A step without options."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}]})


class StepOptions(Body):
    """The values that a step is taken with."""

    model_config = with_example(settings={"retrieval.min_word_count": 0})

    settings: Annotated[dict[SettingName, bool | int | float | Text], Field(max_length=100)] | None = None
    """Values that win over those of the preset, by name."""


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


async def pending_response(
    ctx: ApiContext, asked: Awaited, wait: WaitPreference, *, headers: dict[str, str] | None = None
) -> JSONResponse | None:
    """Wait for a job. None when it is done; else a 202 with the address of the job, for a client that prefers one.

    Raises StepFailedError when a stage of it failed, MissingError when it was deleted, and Refused when it was
    cancelled, and when it is paused and the client has no preference.
    """
    status = await _status(ctx, asked.job_id, wait)
    match status:
        case JobStatus.SUCCEEDED:
            return None
        case JobStatus.FAILED | JobStatus.POISONED:
            raise await _failure(ctx, asked)
        case JobStatus.CANCELLED:
            raise superseded(asked.query_id)
        case None:
            raise query_missing(asked.query_id)
        case JobStatus.PAUSED if wait.seconds is None:
            raise Refused(
                f"Job j{asked.job_id} of query {asked.query_id} is paused; `ragq resume j{asked.job_id}`, or POST "
                f"/jobs/{asked.job_id}/resume, continues the step.",
                slug="step-paused",
            )
    where = f"/jobs/{asked.job_id}"
    is_paused = status is JobStatus.PAUSED
    started = Started(
        **asked._asdict(),
        status=status,
        message=f"Paused; POST {where}/resume continues it." if is_paused else f"Running; {where} shows its progress.",
    )
    all_headers = {"Location": where} | wait.headers | (headers or {})
    return JSONResponse(started.model_dump(mode="json"), status_code=202, headers=all_headers)


def superseded(query_id: int) -> Refused:
    """A question was changed, or its job cancelled, by another request while a step of it was waited for."""
    return Refused(
        f"Query {query_id} was changed or cancelled by another request meanwhile; "
        f"`ragq query show {query_id}` shows its present state.",
        slug="step-superseded",
    )


async def _status(ctx: ApiContext, job_id: int, wait: WaitPreference) -> JobStatus | None:
    if wait.seconds != 0:
        return await wait_until_idle(ctx.database, ctx.changes, job_id, timeout_s=wait.seconds, has_left=wait.has_left)
    job = await ctx.database.once(jobs.job, job_id)
    return None if job is None else job.status


async def _failure(ctx: ApiContext, asked: Awaited) -> StepFailedError | Refused:
    error = (await ctx.database.once(jobs.progress, [asked.job_id]))[asked.job_id].error
    if error is None:
        # It was retried since.
        return superseded(asked.query_id)
    return StepFailedError(asked.query_id, asked.job_id, error.stage, error.type, error.message)


#: The reply of a step to a client that sent `Prefer`, for its OpenAPI description.
ACCEPTED: Final[dict[int | str, dict[str, Any]]] = {202: {"model": Started}}


ConfigPreset = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=100,
        pattern=r"^[^\x00]*$",
        description="Continue with this preset. A run keeps its settings: the question moves to a new run, unless its "
        "run has these values, and stages whose values differ run again.",
        examples=["Original"],
    ),
]


def values_of(config_preset: str | None, body: StepOptions | None) -> dict[str, Any]:
    """The arguments of `run_stages` for the preset and the values of a request."""
    return {"preset": config_preset, "values": (body and body.settings) or {}}


router = APIRouter(prefix="/rag/queries/{query_id}", tags=["questions"], route_class=StrictRoute)


@router.post("/embed", response_model=Embedded, responses=ACCEPTED)
async def embed_query(
    query_id: PathId, ctx: Context, wait: Wait, response: Response, body: NoOptions | None = None
) -> Embedded | Response:
    """Embed the question, its search phrases and its hypothetical answer (HyDE), in one call."""
    taken = await _take(ctx, query_id, Step.EMBED, wait, response)
    if isinstance(taken, Response):
        return taken
    asked, view = taken
    if view.embedded is None:
        raise superseded(query_id)
    texts = Counter(view.embedded.texts)
    return Embedded(
        **asked._asdict(),
        message="Query vectorized successfully",
        total_embeddings=texts.total(),
        original_count=texts[QueryText.ORIGINAL],
        mqe_count=texts[QueryText.MQE],
        hyde_count=texts[QueryText.HYDE],
    )


@router.post("/retrieve", response_model=Retrieved, responses=ACCEPTED)
async def retrieve_chunks(
    query_id: PathId,
    ctx: Context,
    wait: Wait,
    response: Response,
    config_preset: ConfigPreset = None,
    body: StepOptions | None = None,
) -> Retrieved | Response:
    """Search by vectors and full text, fuse both, rank, and validate by a model if the preset has it enabled.

    404 before the question is embedded. Replaces the earlier search; consolidation has to run again.
    """
    taken = await _take(ctx, query_id, Step.RETRIEVE, wait, response, **values_of(config_preset, body))
    if isinstance(taken, Response):
        return taken
    asked, view = taken
    if view.found is None or view.retrieved is None:
        raise superseded(query_id)
    hits = Counter[Leg]()
    for ranked in view.found.lists:
        hits[ranked.leg] += len(ranked.hits)
    final = len(view.retrieved.chunks)
    return Retrieved(
        **asked._asdict(),
        message=f"Retrieved {final} chunks",
        chunks_retrieved=final,
        total_dense_candidates=hits[Leg.DENSE],
        total_lexical_candidates=hits[Leg.LEXICAL],
        rrf_candidates=len(view.found.fused),
        final_count=final,
        dropped_chunks={} if view.reranked is None else view.reranked.dropped,
        kept_short={} if view.reranked is None else view.reranked.kept_short,
    )


@router.post("/consolidate", response_model=Consolidated, responses=ACCEPTED)
async def consolidate_context(
    query_id: PathId,
    ctx: Context,
    wait: Wait,
    response: Response,
    config_preset: ConfigPreset = None,
    body: StepOptions | None = None,
) -> Consolidated | Response:
    """Merge adjacent chunks into passages, from the lines of their works.

    404 before a search, 409 when a work has changed since: search again.
    """
    taken = await _take(ctx, query_id, Step.CONSOLIDATE, wait, response, **values_of(config_preset, body))
    if isinstance(taken, Response):
        return taken
    asked, view = taken
    if view.consolidated is None:
        raise superseded(query_id)
    original, groups = view.consolidated.original_count, view.consolidated.consolidated_count
    return Consolidated(
        **asked._asdict(),
        message=f"Consolidated {original} chunks into {groups} groups",
        original_count=original,
        consolidated_count=groups,
        dropped_passages=view.consolidated.dropped_short or 0,
    )


async def _take(
    ctx: ApiContext, query_id: int, step: Step, wait: WaitPreference, response: Response, **values: Any
) -> tuple[Awaited, QueryView] | Response:
    """Take a step and wait for it: the question after it, or the reply to a client that does not wait so long."""
    async with ctx.database.connection() as connection:
        query = await run_stages(connection, await queries.get(connection, query_id), step, **values)
    asked = Awaited(query.id, query.run_id, query.job_id)
    if pending := await pending_response(ctx, asked, wait):
        return pending
    response.headers.update(wait.headers)
    view = await ctx.database.once(query_view, query_id)
    if view is None:
        raise superseded(query_id)
    return asked, view


TopNQuery = Annotated[
    int | None,
    Query(ge=1, le=20, description="The number of sources in the prompt; by default that of the preset.", examples=[5]),
]

Take = Callable[[Connection, StoredQuery], Awaitable[StoredQuery]]
"""Makes a question continue to an answer, and returns it with the job that computes the answer."""


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
    ctx: Context,
    wait: Wait,
    key: Keyed,
    response: Response,
    body: AnswerRequest | None = None,
    config_preset: ConfigPreset = None,
    top_n: TopNQuery = None,
) -> Answered | Response:
    """Build the prompt and ask the model. Each request makes a new answer; earlier answers are kept.

    `top_n` may be in the query or in the body.
    """
    values = _answer_values(body, config_preset, top_n)
    return await _answer(ctx, query_id, partial(run_stages, step=Step.ANSWER, **values), wait, key, response)


@router.post("/run", response_model=Answered, responses=ACCEPTED)
async def run_query(
    query_id: PathId,
    ctx: Context,
    wait: Wait,
    key: Keyed,
    response: Response,
    body: RunOptions | None = None,
    config_preset: ConfigPreset = None,
    top_n: TopNQuery = None,
) -> Answered | Response:
    """Run every stage from the first that is not done, has failed, or had other values, to the answer.

    Workers run them: work continues when the client disconnects. 409 when every stage is done.
    """
    values = _answer_values(body, config_preset, top_n)
    return await _answer(ctx, query_id, partial(run_stages, **values), wait, key, response)


def _answer_values(body: RunOptions | None, config_preset: str | None, top_n: int | None) -> dict[str, Any]:
    asked = body or RunOptions()
    if None not in (top_n, asked.top_n) and top_n != asked.top_n:
        raise QueryValueError("top_n", "differs between the query and the body; give it once")
    return values_of(config_preset, asked) | {
        "top_n": asked.top_n if top_n is None else top_n,
        "use_light_model": asked.use_full_model is False,
    }


@router.post("/augment/manual")
async def save_manual_response(
    query_id: PathId, ctx: Context, key: Keyed, body: PastedAnswer, response: Response
) -> AnswerSaved:
    """Store the answer of an external model as a new answer, with the sources of its prompt.

    404 before a search. Before consolidation its sources are the retrieved chunks.
    """
    async with ctx.database.connection() as connection:
        query = await queries.get(connection, query_id)
        given = await edits.answer(connection, query, body.response_text, top_n=body.top_n, as_shown=True, key=key)
    response.headers.update({} if given.is_new else REPLAYED)
    return AnswerSaved(query_id=query_id, result_id=given.result_id, message="Response saved successfully")


async def _answer(
    ctx: ApiContext, query_id: int, take: Take, wait: WaitPreference, key: RequestKey | None, response: Response
) -> Answered | Response:
    """Continue a question to an answer, once per key, and wait for it."""

    async def make(connection: Connection) -> Mapping[str, Any]:
        after = await queries.newest_result(connection, query_id)
        query = await take(connection, await queries.get(connection, query_id))
        return {"run": query.run_id, "job": query.job_id, "after": after}

    async with ctx.database.connection() as connection:
        made, is_new = await once(connection, key, make)
    headers = {} if is_new else REPLAYED
    asked = Awaited(query_id, made["run"], made["job"])
    answered = None if is_new else await _read(ctx, asked, made["after"])
    if answered is None:
        if pending := await pending_response(ctx, asked, wait, headers=headers):
            return pending
        answered = await _read(ctx, asked, made["after"])
    if answered is None:
        raise superseded(query_id)
    response.headers.update(wait.headers | headers)
    return answered


async def _read(ctx: ApiContext, asked: Awaited, after: int) -> Answered | None:
    """The first answer of the job after answer `after`; None when there is none yet."""
    async with ctx.database.connection() as connection:
        await queries.get(connection, asked.query_id)
        result_id = await queries.made_result(connection, asked.query_id, job_id=asked.job_id, after=after)
        if result_id is None:
            return None
        result = await queries.result(connection, asked.query_id, result_id)
    done = asked._asdict() | {"message": "Response saved successfully", "result_id": result.id}
    return Answered(**vars(result) | done)
