"""A question as it is shown: its progress, its outputs, and its last error."""

from dataclasses import dataclass
from typing import Final

from schemas.errors import QueryMissingError
from schemas.values.failures import StageFailure
from schemas.values.queries import (
    ConsolidatedContext,
    EmbeddedQuery,
    Expansion,
    RerankedChunks,
    RetrievedChunks,
    ValidatedChunks,
)
from store.database import Connection
from store.questions import query_lines
from store.questions.query_lines import QueryLine
from store.runs import job_progress

OUTPUTS = """
SELECT stage, output FROM current_attempt WHERE job_id = $1 AND status = 'done' AND stage = ANY($2::text[])
"""

_SHOWN: Final = ("expand", "embed", "retrieve", "rerank", "validate", "consolidate")


@dataclass(frozen=True, kw_only=True)
class QueryView:
    """A question with the outputs that hold now; those that are not stored, or stale, are None."""

    line: QueryLine
    expansion: Expansion | None
    embedded: EmbeddedQuery | None
    found: RetrievedChunks | None
    reranked: RerankedChunks | None
    retrieved: ValidatedChunks | None
    """The chunks that the search ended with."""
    consolidated: ConsolidatedContext | None
    error: StageFailure | None
    """The last error of a job that did not succeed."""

    @property
    def available(self) -> int:
        """How many sources a prompt could show now."""
        if self.consolidated is not None and self.consolidated.groups:
            return len(self.consolidated.groups)
        return 0 if self.retrieved is None else len(self.retrieved.chunks)


async def query_view(connection: Connection, query_id: int) -> QueryView | None:
    """A question; None when there is none of that number. All of it is read at one moment."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        lines = await query_lines.lines(connection, query_id=query_id, limit=1)
        if not lines:
            return None
        (line,) = lines
        stored = {row["stage"]: row["output"] for row in await connection.fetch(OUTPUTS, line.job_id, _SHOWN)}
        error = (await job_progress.progress(connection, [line.job_id]))[line.job_id].error
    return QueryView(
        line=line,
        expansion=Expansion.model_validate(stored["expand"]) if "expand" in stored else None,
        embedded=EmbeddedQuery.model_validate(stored["embed"]) if "embed" in stored else None,
        found=RetrievedChunks.model_validate(stored["retrieve"]) if "retrieve" in stored else None,
        reranked=RerankedChunks.model_validate(stored["rerank"]) if "rerank" in stored else None,
        retrieved=ValidatedChunks.model_validate(stored["validate"]) if "validate" in stored else None,
        consolidated=ConsolidatedContext.model_validate(stored["consolidate"]) if "consolidate" in stored else None,
        error=error,
    )


async def existing_view(connection: Connection, query_id: int) -> QueryView:
    """A question. Raises QueryMissingError."""
    view = await query_view(connection, query_id)
    if view is None:
        raise QueryMissingError(query_id)
    return view
