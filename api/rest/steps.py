"""The steps of a question, from its embedding to its answers. The request waits as long as the client prefers."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field
from starlette.responses import JSONResponse

from api.context import Context
from api.event_streams import wait_until_idle
from api.parameters import (
    REPLAYED,
    Body,
    Keyed,
    PathId,
    Reply,
    StrictRoute,
    WithSettings,
    responds_at_once,
    with_example,
)
from schemas.errors import QueryValueError, Refused, StepFailedError
from schemas.statuses import JobStatus, VectorStatus
from schemas.values.base import Text
from schemas.values.queries import AugmentedPrompt, Leg, QueryText
from schemas.values.requests import Name
from services.questions import edits
from services.questions.steps import Step, run_stages
from store.access import RequestKey, once
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery, StoredResult
from store.questions.query_runs import QueryView, query_view
from store.runs import jobs
from store.runs.edits import set_inputs
from store.runs.failures import last_failures


class StepReply(Reply):
    """A step of a question."""

    success: bool = True
    """False in a reply 202, while the step runs: `GET /jobs/{job_id}` shows when it is done."""
    query_id: int
    run_id: int
    job_id: int
    message: str


class StepCounts(StepReply):
    """A step, with the counts of its kind; those of other kinds are absent."""

    vector_status: VectorStatus | None = None
    total_embeddings: int | None = None
    original_count: int | None = None
    """Embedded texts of the question itself; or chunks before they are merged."""
    mqe_count: int | None = None
    hyde_count: int | None = None
    chunks_retrieved: int | None = None
    total_dense_candidates: int | None = None
    """Hits of all searches by vector; a chunk counts once per search."""
    total_lexical_candidates: int | None = None
    """Likewise of all full-text searches."""
    rrf_candidates: int | None = None
    """Chunks after fusion."""
    final_count: int | None = None
    """The same as `chunks_retrieved`."""
    consolidated_count: int | None = None
    """Passages that are available for a prompt."""


Done = TypeVar("Done", bound=StepReply)

Read = Callable[[Connection], Awaitable[Done | None]]
"""What a step is replied to with; None while its output is not stored."""


@dataclass(frozen=True)
class Waiting:
    """A request that waits for a step."""

    ctx: Context
    request: Request
    response: Response
    at_once: Annotated[bool, Depends(responds_at_once)]
    """It is replied to without waiting."""

    async def reply(self, asked: StoredQuery, read: Read[Done], *, is_new: bool = True) -> Done | Response:
        """What `read` gives when the job of a question is done, which is looked for at once if the request is not new;
        or a 202 with the address of the job, for a client that prefers one.

        Raises StepFailedError when a stage of it failed, MissingError when it was deleted, and Refused when it was
        cancelled, changed or paused.
        """
        headers = {} if is_new else REPLAYED
        done = None if is_new else await self.ctx.database.once(read)
        if done is None:
            status = await self._status(asked)
            if status is not JobStatus.SUCCEEDED:
                return _accepted(asked, status, headers)
            done = await self.ctx.database.once(read)
        if done is None:
            raise _superseded(asked.id)
        self.response.headers.update(headers)
        return done

    async def _status(self, asked: StoredQuery) -> JobStatus:
        database, has_left = self.ctx.database, self.request.is_disconnected
        if self.at_once:
            job = await database.once(jobs.job, asked.job_id)
            status = None if job is None else job.status
        else:
            status = await wait_until_idle(database, self.ctx.changes, asked.job_id, has_left=has_left)
        match status:
            case JobStatus.FAILED | JobStatus.POISONED:
                error = (await database.once(last_failures, job_ids=[asked.job_id])).get(asked.job_id)
                if error is None:  # It was retried since.
                    raise _superseded(asked.id)
                raise StepFailedError(asked.id, asked.job_id, error.stage, error.type, error.message)
            case JobStatus.CANCELLED:
                raise _superseded(asked.id)
            case None:
                raise queries.query_missing(asked.id)
            case JobStatus.PAUSED:
                raise Refused(
                    f"Job j{asked.job_id} of query {asked.id} is paused; `ragq resume j{asked.job_id}`, or POST "
                    f"/jobs/{asked.job_id}/resume, continues the step.",
                    slug="step-paused",
                )
        return status


Waits = Annotated[Waiting, Depends()]


def _accepted(asked: StoredQuery, status: JobStatus, headers: Mapping[str, str]) -> Response:
    where = f"/jobs/{asked.job_id}"
    started = StepReply(**ids_of(asked), success=False, message=f"The job is {status}; {where} shows its progress.")
    return JSONResponse(started.model_dump(mode="json"), status_code=202, headers={"Location": where, **headers})


def _superseded(query_id: int) -> Refused:
    return Refused(
        f"Query {query_id} was changed or cancelled by another request meanwhile; "
        f"`ragq query show {query_id}` shows its present state.",
        slug="step-superseded",
    )


def ids_of(query: StoredQuery) -> dict[str, int]:
    """The numbers that the reply of every step has."""
    return {"query_id": query.id, "run_id": query.run_id, "job_id": query.job_id}


#: The reply of a step to a client that sent `Prefer`, for its OpenAPI description.
ACCEPTED: Final[dict[int | str, dict[str, Any]]] = {202: {"model": StepReply}}

ConfigPreset = Annotated[
    Name | None,
    Query(
        description="Continue with this preset. A run keeps its settings: the question moves to a new run, unless its "
        "run has these values, and stages whose values differ run again.",
        examples=["Original"],
    ),
]

router = APIRouter(prefix="/rag/queries/{query_id}", tags=["questions"], route_class=StrictRoute)


#: How a step is declared that replies with counts.
_COUNTED: Final[dict[str, Any]] = {
    "response_model": StepCounts,
    "response_model_exclude_none": True,
    "responses": ACCEPTED,
}


@router.post("/embed", **_COUNTED)
async def embed_query(query_id: PathId, waiting: Waits, body: Body | None = None) -> StepCounts | Response:
    """Embed the question, its search phrases and its hypothetical answer (HyDE), in one call."""

    def counts(view: QueryView) -> dict[str, Any] | None:
        if view.embedded is None:
            return None
        texts = Counter(view.embedded.texts)
        return {
            "message": "Query vectorized successfully",
            "vector_status": VectorStatus.VEC,
            "total_embeddings": texts.total(),
            "original_count": texts[QueryText.ORIGINAL],
            "mqe_count": texts[QueryText.MQE],
            "hyde_count": texts[QueryText.HYDE],
        }

    return await _take(waiting, query_id, Step.EMBED, counts)


@router.post("/retrieve", **_COUNTED)
async def retrieve_chunks(
    query_id: PathId, waiting: Waits, config_preset: ConfigPreset = None, body: WithSettings | None = None
) -> StepCounts | Response:
    """Search by vectors and full text, fuse both, rank, and validate by a model if the preset has it enabled.

    404 before the question is embedded. Replaces the earlier search; consolidation has to run again.
    """

    def counts(view: QueryView) -> dict[str, Any] | None:
        if view.found is None or view.retrieved is None:
            return None
        hits = Counter(ranked.leg for ranked in view.found.lists for _ in ranked.hits)
        final = len(view.retrieved.chunks)
        return {
            "message": f"Retrieved {final} chunks",
            "chunks_retrieved": final,
            "total_dense_candidates": hits[Leg.DENSE],
            "total_lexical_candidates": hits[Leg.LEXICAL],
            "rrf_candidates": len(view.found.fused),
            "final_count": final,
        }

    return await _take(waiting, query_id, Step.RETRIEVE, counts, **values_of(config_preset, body))


@router.post("/consolidate", **_COUNTED)
async def consolidate_context(
    query_id: PathId, waiting: Waits, config_preset: ConfigPreset = None, body: WithSettings | None = None
) -> StepCounts | Response:
    """Merge adjacent chunks into passages. 404 before a search, 409 when a work has changed since: search again."""

    def counts(view: QueryView) -> dict[str, Any] | None:
        if view.consolidated is None:
            return None
        original, groups = view.consolidated.original_count, view.consolidated.consolidated_count
        return {
            "message": f"Consolidated {original} chunks into {groups} groups",
            "original_count": original,
            "consolidated_count": groups,
        }

    return await _take(waiting, query_id, Step.CONSOLIDATE, counts, **values_of(config_preset, body))


async def _take(
    waiting: Waiting, query_id: int, step: Step, counts: Callable[[QueryView], dict[str, Any] | None], **values: Any
) -> StepCounts | Response:
    """Take a step, and wait for it."""

    async def read(connection: Connection) -> StepCounts | None:
        view = await query_view(connection, query_id)
        found = counts(view)
        return None if found is None else StepCounts(**ids_of(view) | found)

    return await waiting.reply(await waiting.ctx.database.once(run_stages, query_id, step, **values), read)


def values_of(config_preset: str | None, body: WithSettings | None) -> dict[str, Any]:
    """The arguments of `run_stages` for the preset and the values of a request."""
    return {"preset": config_preset, "values": {} if body is None else body.values}


TopN = Annotated[int, Field(ge=1, le=20)]


class AnswerOptions(WithSettings):
    """The values that a question runs with to its answer."""

    model_config = with_example(settings={"retrieval.min_word_count": 0}, top_n=5, use_full_model=False)

    top_n: TopN | None = None
    """The number of sources in the prompt; by default that of the preset."""
    use_full_model: bool | None = None
    """False: RAGQ_QUERY_LIGHT_MODEL of the run expands and answers; true or absent: RAGQ_QUERY_MODEL."""
    force: bool | None = None
    """Accepted without effect: each new answer is stored beside the earlier ones."""


class Answered(StepReply, StoredResult):
    """A new answer."""

    message: str = "Response saved successfully"
    result_id: int
    """The same as `id`."""


class PastedAnswer(Body):
    """An answer of an external model."""

    model_config = with_example(response_text="Working memory is a cognitive system...", top_n=5)

    response_text: Annotated[Text, Field(min_length=1, max_length=200_000)] = Field(repr=False)
    top_n: TopN | None = None
    """The number of sources in its prompt; by default that of the prompt that was shown last."""


class PromptReply(AugmentedPrompt):
    """The prompt that asks for the answer, with its sources."""

    query_id: int
    original_query: str = Field(repr=False)
    shown: int = Field(serialization_alias="context_count")
    """Sources in the prompt."""
    available: int = Field(serialization_alias="available_context_count")
    """Sources that are available for the prompt."""


TopNQuery = Annotated[
    TopN | None, Query(description="The number of sources in the prompt; by default that of the preset.", examples=[5])
]


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
        shown = await edits.preview(connection, query, preset=config_preset, top_n=top_n)
        await set_inputs(connection, query.job_id, shown=shown.top_n)
    return PromptReply(**vars(shown), query_id=query.id, original_query=query.original_query)


@router.post("/augment/run", response_model=Answered, responses=ACCEPTED)
async def run_augmented_prompt(
    query_id: PathId,
    waiting: Waits,
    key: Keyed,
    body: AnswerOptions | None = None,
    config_preset: ConfigPreset = None,
    top_n: TopNQuery = None,
) -> Answered | Response:
    """Build the prompt and ask the model. Each request makes a new answer. `top_n` may be in query or body."""
    return await _answer(waiting, key, query_id, Step.ANSWER, body, config_preset, top_n)


@router.post("/run", response_model=Answered, responses=ACCEPTED)
async def run_query(
    query_id: PathId,
    waiting: Waits,
    key: Keyed,
    body: AnswerOptions | None = None,
    config_preset: ConfigPreset = None,
    top_n: TopNQuery = None,
) -> Answered | Response:
    """Run every stage from the first that is not done, has failed, or had other values, to the answer.

    Workers run them: work continues when the client disconnects. 409 when every stage is done.
    """
    return await _answer(waiting, key, query_id, None, body, config_preset, top_n)


@router.post("/augment/manual")
async def save_manual_response(
    query_id: PathId, ctx: Context, key: Keyed, body: PastedAnswer, response: Response
) -> Answered:
    """Store the answer of an external model as a new answer, with the sources of its prompt. 404 before a search."""
    async with ctx.database.connection() as connection:
        result_id, is_new = await edits.answer(connection, query_id, body.response_text, top_n=body.top_n, key=key)
        response.headers.update({} if is_new else REPLAYED)
        return await _answered(connection, await queries.get(connection, query_id), result_id)


async def _answered(connection: Connection, query: StoredQuery, result_id: int) -> Answered:
    result = await queries.result(connection, query.id, result_id)
    return Answered(**vars(result) | ids_of(query), result_id=result.id)


async def _answer(
    waiting: Waiting,
    key: RequestKey | None,
    query_id: int,
    step: Step | None,
    body: AnswerOptions | None,
    config_preset: str | None,
    top_n: int | None,
) -> Answered | Response:
    """Continue a question to an answer, once per key, and wait for it."""
    options = body or AnswerOptions()
    if None not in (top_n, options.top_n) and top_n != options.top_n:
        raise QueryValueError("top_n", "differs between the query and the body; give it once")
    values = values_of(config_preset, options) | {"use_light_model": options.use_full_model is False}

    async def make(connection: Connection) -> Mapping[str, Any]:
        after = await queries.newest_result(connection, query_id)
        made = await run_stages(connection, query_id, step, **values, top_n=top_n or options.top_n)
        return {"run": made.run_id, "job": made.job_id, "after": after}

    async with waiting.ctx.database.connection() as connection:
        made, is_new = await once(connection, key, make)
        query = await queries.get(connection, query_id)
    asked = query.model_copy(update={"run_id": made["run"], "job_id": made["job"]})

    async def read(connection: Connection) -> Answered | None:
        """The first answer of the job after those that there were."""
        await queries.get(connection, query_id)
        result_id = await queries.made_result(connection, query_id, job_id=asked.job_id, after=made["after"])
        return None if result_id is None else await _answered(connection, asked, result_id)

    return await waiting.reply(asked, read, is_new=is_new)
