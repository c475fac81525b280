"""A question as it is shown: its progress, its outputs, and its last error."""

from dataclasses import dataclass
from typing import Final

from schemas.errors import QueryMissingError
from schemas.values.failures import StageFailure
from schemas.values.queries import (
    ConsolidatedContext,
    EmbeddedQuery,
    Expansion,
    RerankedChunk,
    RerankedChunks,
    RetrievedChunks,
    ValidatedChunks,
)
from stages.failures import FailureCategory
from stages.reports.words import notices
from store.database import Connection
from store.questions import query_lines
from store.questions.queries import StoredResult
from store.questions.query_lines import QueryLine
from store.runs import job_progress, overviews

OUTPUTS = """
SELECT stage, output FROM current_attempt WHERE job_id = $1 AND status = 'done' AND stage = ANY($2::text[])
"""

NEAREST: Final = 3

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
    notices: list[str]
    """Caveats about the results of its run."""

    @property
    def passages(self) -> list[tuple[int, ...]]:
        """The chunks of each source that a prompt could show now, in its order."""
        if self.consolidated is not None and self.consolidated.groups:
            return [group.chunk_ids for group in self.consolidated.groups]
        best_first = sorted(self.retrieved.chunks, key=lambda chunk: -chunk.final_score) if self.retrieved else []
        return [(chunk.chunk_id,) for chunk in best_first]

    @property
    def nearest(self) -> tuple[RerankedChunk, ...]:
        """The three nearest chunks to a question that the corpus does not answer; none to one that it may answer."""
        is_refused = self.error is not None and self.error.category == FailureCategory.NOTHING_RELEVANT
        return self.reranked.chunks[:NEAREST] if is_refused and self.reranked is not None else ()

    @property
    def available(self) -> int:
        """How many sources a prompt could show now."""
        return len(self.passages)

    def has_other_sources(self, result: StoredResult) -> bool:
        """Whether an answer was written from other passages than the first of those that a prompt could show now."""
        of_answer = [tuple(source["chunk_ids"]) for source in result.sources]
        return of_answer != self.passages[: len(of_answer)]


async def query_view(connection: Connection, query_id: int) -> QueryView | None:
    """A question; None when there is none of that number. All of it is read at one moment."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        lines = await query_lines.lines(connection, query_id=query_id, limit=1)
        if not lines:
            return None
        (line,) = lines
        stored = {row["stage"]: row["output"] for row in await connection.fetch(OUTPUTS, line.job_id, _SHOWN)}
        error = (await job_progress.progress(connection, [line.job_id]))[line.job_id].error
        run = await overviews.get(connection, line.run_id)
    return QueryView(
        line=line,
        expansion=Expansion.model_validate(stored["expand"]) if "expand" in stored else None,
        embedded=EmbeddedQuery.model_validate(stored["embed"]) if "embed" in stored else None,
        found=RetrievedChunks.model_validate(stored["retrieve"]) if "retrieve" in stored else None,
        reranked=RerankedChunks.model_validate(stored["rerank"]) if "rerank" in stored else None,
        retrieved=ValidatedChunks.model_validate(stored["validate"]) if "validate" in stored else None,
        consolidated=ConsolidatedContext.model_validate(stored["consolidate"]) if "consolidate" in stored else None,
        error=error,
        notices=list(notices(run.kind, run.profile, run.request)),
    )


async def existing_view(connection: Connection, query_id: int) -> QueryView:
    """A question. Raises QueryMissingError."""
    view = await query_view(connection, query_id)
    if view is None:
        raise QueryMissingError(query_id)
    return view
