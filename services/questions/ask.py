"""One question, asked: stored as a run of its own, and sent by whoever asked once that is committed."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from schemas.settings.resolve import EffectiveSettings
from schemas.values.query_sets import QuerySet, SubmittedQuery
from services.new_runs import store_run
from services.questions import edits as query_edits
from services.questions.answers import keep_prompt
from services.questions.lookup import get_query
from services.questions.submission import QueryRequest, plan_queries
from services.questions.text import question_text
from stages.queries.expand import pasted_expansion
from store.access.idempotency import RequestKey, once
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery
from store.runs import edits

#: The id of a question that is asked by itself.
SINGLE: Final = "1"


class AskResult(NamedTuple):
    """A question that is stored, and where it is now."""

    query_id: int
    job_id: int
    run_id: int
    is_new: bool
    """False when the key says that it was asked before."""


class AnswerResult(NamedTuple):
    """An answer that is stored."""

    result_id: int
    is_new: bool
    """False when the key says that it was given before."""


def one_question(text: str) -> QuerySet:
    """A set of one question. Raises QueryValueError for a text that cannot be asked."""
    return QuerySet(queries=(SubmittedQuery(external_id=SINGLE, text=question_text(text)),))


async def ask(
    connection: Connection, request: QueryRequest, settings: EffectiveSettings, *, key: RequestKey | None
) -> AskResult:
    """Store a request of one question as a new run, unless the key says that it was made before. Nothing is sent.

    A pasted expansion is stored at once, by hand, and waits for no worker.

    Raises as `plan_queries` does; IdempotencyKeyReusedError for a key of another request, and QueryMissingError when
    the question that was made under the key has been deleted since.
    """
    (_,) = request.queries.queries

    async def make(connection: Connection) -> Mapping[str, Any]:
        stored = await store_run(connection, await plan_queries(connection, request, settings), always_new=True)
        asked = await queries.of_job(connection, stored.job_ids[0])
        assert asked is not None
        if request.expansion_reply is not None:
            pasted = pasted_expansion(request.expansion_reply)
            await edits.set_output(connection, asked.job_id, "expand", pasted.model_dump(mode="json"))
        return {"query": asked.id}

    async with connection.transaction():
        made, is_new = await once(connection, key, make)
        query = await get_query(connection, made["query"])
    return AskResult(query.id, query.job_id, query.run_id, is_new)


async def answer(
    connection: Connection, query: StoredQuery, text: str, *, top_n: int | None = None, key: RequestKey | None
) -> AnswerResult:
    """Store a pasted answer to the prompt with `top_n` sources, unless the key says that it was given before.

    Raises as `keep_prompt` and `query_edits.paste_answer`.
    """

    async def make(connection: Connection) -> Mapping[str, Any]:
        await keep_prompt(connection, query, top_n=top_n)
        return {"result": await query_edits.paste_answer(connection, query, text)}

    made, is_new = await once(connection, key, make)
    return AnswerResult(made["result"], is_new)
