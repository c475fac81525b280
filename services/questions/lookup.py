"""A stored query, found by its id."""

from typing import Any, Final, NamedTuple

from schemas.errors import QueryMissingError, Refused
from schemas.values.failures import StageFailure
from stages.failures import FailureCategory
from store.database import Connection
from store.questions import queries
from store.questions.queries import QueryLine, StoredQuery, StoredResult
from store.questions.query_runs import NEAREST
from store.runs import attempts
from store.runs.failures import last_failures

#: Stages whose outputs are text that people read; vectors are none.
_READABLE: Final = ("expand", "retrieve", "rerank", "validate", "consolidate", "augment", "generate")


class QueryDetails(NamedTuple):
    """Everything readable that is stored for a query."""

    line: QueryLine
    outputs: dict[str, Any]
    """By stage, in the order of the chain; None where none is stored, or where it is stale."""
    answers: list[StoredResult]
    """The newest first."""
    error: StageFailure | None
    """The last error of a job that did not succeed."""

    @property
    def nearest(self) -> list[dict[str, Any]]:
        """The three nearest chunks to a question that the corpus does not answer; none to one that it may answer."""
        is_refused = self.error is not None and self.error.category == FailureCategory.NOTHING_RELEVANT
        found: list[dict[str, Any]] = self.outputs["rerank"]["chunks"] if self.outputs["rerank"] else []
        return found[:NEAREST] if is_refused else []


def not_ready(query_id: int, step: str, needed: str) -> Refused:
    """A step of a question needs the output of an earlier one. `needed` is the step to run first."""
    what = (
        f"its expansion is not stored. `ragq query run {query_id} --until expand` asks the model again, "
        f"`ragq query edit {query_id} --mqe TEXT` stores search phrases of yours"
        if needed == "expand"
        else f"step '{needed}' comes first. Run that step"
    )
    return Refused(
        f"Query {query_id} is not ready for step '{step}': {what}, or the whole chain: `ragq query run {query_id}`.",
        slug="step-not-ready",
    )


async def get_query(connection: Connection, query_id: int) -> StoredQuery:
    """The query of an id. Raises QueryMissingError."""
    query = await queries.by_id(connection, query_id)
    if query is None:
        raise QueryMissingError(query_id)
    return query


async def lock_query(connection: Connection, query_id: int) -> StoredQuery:
    """The query as it is now, locked until the transaction ends. Raises QueryMissingError."""
    query = await queries.hold(connection, query_id)
    if query is None:
        raise QueryMissingError(query_id)
    return query


async def query_details(connection: Connection, query_id: int) -> QueryDetails:
    """A query with its outputs and answers, read at one moment. Raises QueryMissingError."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        query = await get_query(connection, query_id)
        (line,) = await queries.lines(connection, query_id=query_id)
        stored = await attempts.outputs(connection, query.job_id, _READABLE)
        answers = await queries.results(connection, query_id)
        error = (await last_failures(connection, job_ids=[query.job_id])).get(query.job_id)
    return QueryDetails(line, {stage: stored.get(stage) for stage in _READABLE}, answers, error)


async def single_query_details(connection: Connection, run_id: int) -> QueryDetails | None:
    """The query of a run with everything that is stored for it; None for a run of several, or of none."""
    found = await queries.of_run(connection, run_id)
    return await query_details(connection, found[0]) if len(found) == 1 else None
