"""Submits one query as its own run. The caller sends it, once that is committed."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas.settings.resolve import EffectiveSettings
from schemas.values.queries import SINGLE, QuerySet, SubmittedQuery
from services.new_runs import store_run
from services.questions.edits import query_text
from services.questions.lookup import get_query
from services.questions.submission import QueryRequest, plan_queries
from stages.queries.expand import expansion_prompt, pasted_expansion
from stages.queries.templates import TemplateTag
from store.access.idempotency import RequestKey, once
from store.database import Connection
from store.questions import presets, queries, templates
from store.runs import edits


class AskResult(NamedTuple):
    """A query that is stored, with the job that answers it now."""

    query_id: int
    job_id: int
    run_id: int
    is_new: bool
    """False when the key belongs to a query that was asked before."""


class ExpansionPreview(NamedTuple):
    """A prompt, and the number of search phrases it asks for."""

    prompt: str
    n: int


def single_query(text: str) -> QuerySet:
    """A set of one query. Raises QueryValueError for a text that cannot be asked."""
    return QuerySet(queries=(SubmittedQuery(external_id=SINGLE, text=query_text(text)),))


async def preview_expansion_prompt(
    connection: Connection, text: str, *, preset: str | None = None, n: int | None = None
) -> ExpansionPreview:
    """The prompt that asks a model to expand a query into `n` search phrases; None uses the preset's number.

    `preset` None is the default one. Raises QueryValueError, Refused and TemplateMissingError.
    """
    stored = await (presets.default(connection) if preset is None else presets.get(connection, preset))
    template = await templates.get(connection, TemplateTag.QUERY_EXPANSION)
    wanted = stored.preset.expansion.n if n is None else n
    return ExpansionPreview(expansion_prompt(query_text(text), wanted, template=template.text), wanted)


async def ask(
    connection: Connection, request: QueryRequest, settings: EffectiveSettings, *, key: RequestKey | None
) -> AskResult:
    """Store a request of one query as a new run, unless the key belongs to one that was made before.

    A pasted expansion is stored at once, as a manual output, without a worker.

    Raises as `plan_queries` does; Refused for a key of another request, and QueryMissingError when
    the query that was made under the key has been deleted since.
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
