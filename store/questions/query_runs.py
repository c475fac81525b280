"""Reads a run of queries for its reports, all of it at one moment. No text of a query or a chunk is read."""

from collections.abc import Iterable
from typing import Final, TypeVar

from pydantic import Field, computed_field

from schemas.chains import stages_of
from schemas.errors import FailureCategory, Refused
from schemas.values.base import Value
from schemas.values.queries import (
    ConsolidatedContext,
    ContextGroup,
    EmbeddedQuery,
    Expansion,
    QueryRun,
    RankedQuery,
    RerankedChunk,
    RerankedChunks,
    RetrievedChunks,
    ValidatedChunks,
)
from schemas.values.runs import StageFailure
from stages.queries.query_files import document_name
from store import rows
from store.corpora import works
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery, StoredResult, result_missing
from store.runs import attempts, deletions, edits, jobs, overviews
from store.runs.failures import final_categories
from store.runs.jobs import JobProgress
from store.runs.scored_runs import reported

# A text that was asked more than once, without an id, is numbered from its second time.
QUERIES = """
WITH asked AS (
    SELECT j.id AS job_id, j.status, j.ordinal, q.corpus_id || q.other_corpus_ids AS corpus_ids, (
               SELECT string_agg(k.name, ', ' ORDER BY k.name) FROM corpus AS k
               WHERE k.id = q.corpus_id OR k.id = ANY(q.other_corpus_ids)
           ) AS corpus, c.model AS embedding_model,
           coalesce(q.external_id, left(encode(sha256(convert_to(q.original_query, 'UTF8')), 'hex'), 16)) AS key,
           q.judgements
    FROM queries AS q JOIN job AS j ON j.id = q.job_id JOIN corpus AS c ON c.id = q.corpus_id
    WHERE j.run_id = $1
), output AS (
    SELECT a.job_id, a.stage, a.output FROM job AS j JOIN current_attempt AS a ON a.job_id = j.id AND a.status = 'done'
    WHERE j.run_id = $1
)
SELECT q.job_id, q.status, q.corpus_ids, q.corpus, q.embedding_model, q.judgements,
       q.key || coalesce('#' || nullif(row_number() OVER (PARTITION BY q.key ORDER BY q.ordinal), 1), '') AS key,
       f.output AS retrieved, r.output ->> 'ranker' AS ranker, r.output -> 'ranking' AS ranking,
       jsonb_path_query_array(r.output, '$.chunks[*].chunk_id') AS selected, v.output ->> 'validator' AS validator,
       CASE WHEN v.output ->> 'validator' IS NOT NULL THEN v.output -> 'verdicts' END AS verdicts,
       jsonb_path_query_array(c.output, '$.groups[*].chunk_ids') AS groups
FROM asked AS q
LEFT JOIN output AS f ON f.job_id = q.job_id AND f.stage = 'retrieve'
LEFT JOIN output AS r ON r.job_id = q.job_id AND r.stage = 'rerank'
LEFT JOIN output AS v ON v.job_id = q.job_id AND v.stage = 'validate'
LEFT JOIN output AS c ON c.job_id = q.job_id AND c.stage = 'consolidate'
ORDER BY q.ordinal
"""

WORKS_OF_CHUNKS = """
SELECT c.id, c.start_line, w.source_path FROM chunks AS c JOIN works AS w ON w.id = c.work_id
WHERE c.id = ANY($1::bigint[])
"""


async def query_run(connection: Connection, run_id: int) -> QueryRun:
    """A run. Raises Refused when it has no queries."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        rows = await connection.fetch(QUERIES, run_id)
        if not rows:
            raise Refused(f"Run r{run_id} has no queries to report. `ragq show r{run_id}` shows what it did.")
        queries = tuple(RankedQuery(**{name: row[name] for name in RankedQuery.model_fields}) for row in rows)
        chunks = await connection.fetch(WORKS_OF_CHUNKS, sorted(_chunks(queries)))
        known = await works.documents_of(connection, sorted({id_ for row in rows for id_ in row["corpus_ids"]}))
        relevant = {document for query in queries for document, degree in query.judgements.items() if degree > 0}
        run = await reported(connection, run_id)
        failures = await final_categories(connection, run_id)
    return QueryRun(
        **vars(run),
        queries=queries,
        documents={row["id"]: document_name(row["source_path"]) for row in chunks},
        lines={row["id"]: row["start_line"] for row in chunks},
        unknown_documents=len(relevant - known),
        failures=failures,
    )


def _chunks(queries: Iterable[RankedQuery]) -> set[int]:
    found: set[int] = set()
    for query in queries:
        if query.retrieved is not None:
            found.update(chunk_id for ranked in query.retrieved.lists for chunk_id, _ in ranked.hits)
            found.update(chunk_id for chunk_id, _ in query.retrieved.fused)
        found.update(query.ranking or (), query.selected or (), *(query.groups or ()))
        found.update(verdict.chunk_id for verdict in query.verdicts or ())
    return found


_NEAREST: Final = 3

Output = TypeVar("Output", bound=Value)


class QueryView(StoredQuery):
    """A question with the outputs that hold now; those that are not stored, or stale, are None."""

    expansion: Expansion | None = Field(exclude=True)
    embedded: EmbeddedQuery | None = Field(exclude=True)
    found: RetrievedChunks | None = Field(exclude=True)
    reranked: RerankedChunks | None = Field(exclude=True)
    retrieved: ValidatedChunks | None = Field(exclude=True)
    """The chunks that the search ended with."""
    consolidated: ConsolidatedContext | None = Field(exclude=True)
    answers: list[StoredResult] = Field(exclude=True)
    """All that are stored, the newest first."""
    progress: JobProgress = Field(exclude=True)
    notices: list[str] = Field(exclude=True)
    """Caveats about the results of its run."""

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def expanded_queries(self) -> tuple[str, ...] | None:
        """None while no expansion is stored."""
        return None if self.expansion is None else self.expansion.queries

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def hyde_answer(self) -> str | None:
        """Likewise."""
        return None if self.expansion is None else self.expansion.hyde_answer

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def entities(self) -> tuple[str, ...] | None:
        """Likewise."""
        return None if self.expansion is None else self.expansion.entities

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def retrieved_context(self) -> tuple[RerankedChunk, ...] | None:
        """In the order of selection; None while no search is stored."""
        return None if self.retrieved is None else self.retrieved.chunks

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def clean_retrieval_context(self) -> tuple[ContextGroup, ...] | None:
        """In the order of the prompt; None while no consolidation is stored."""
        return None if self.consolidated is None else self.consolidated.groups

    @computed_field  # type: ignore[prop-decorator]
    @property
    def available_context_count(self) -> int:
        """The number of available sources for a prompt: passages, or retrieved chunks where there are none."""
        return len(self.passages)

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def error(self) -> StageFailure | None:
        """The last error of a job that did not succeed."""
        return self.progress.error

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def nearest(self) -> tuple[RerankedChunk, ...]:
        """The three nearest chunks to a question that the corpus does not answer, whose error is `nothing_relevant`."""
        is_refused = self.error is not None and self.error.category == FailureCategory.NOTHING_RELEVANT
        return self.reranked.chunks[:_NEAREST] if is_refused and self.reranked is not None else ()

    @property
    def passages(self) -> list[tuple[int, ...]]:
        """The chunks of each source that a prompt could show now, in its order."""
        if self.consolidated is not None and self.consolidated.groups:
            return [group.chunk_ids for group in self.consolidated.groups]
        best_first = sorted(self.retrieved.chunks, key=lambda chunk: -chunk.final_score) if self.retrieved else []
        return [(chunk.chunk_id,) for chunk in best_first]

    def has_other_sources(self, result: StoredResult) -> bool:
        """Whether an answer was written from other passages than the first of those that a prompt could show now."""
        of_answer = [source.chunk_ids for source in result.sources]
        return of_answer != self.passages[: len(of_answer)]


async def query_view(connection: Connection, query_id: int) -> QueryView:
    """A question, all of it read at one moment. Raises MissingError."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        line = await queries.get(connection, query_id)
        found = await attempts.outputs(connection, line.job_id, stages_of("query", "answer", until="consolidate"))
        stored = {stage: output.value for stage, output in found.items()}
        run = await overviews.get(connection, line.run_id)

        def read(stage: str, kind: type[Output]) -> Output | None:
            return kind.model_validate(stored[stage]) if stage in stored else None

        return QueryView(
            **vars(line),
            expansion=read("expand", Expansion),
            embedded=read("embed", EmbeddedQuery),
            found=read("retrieve", RetrievedChunks),
            reranked=read("rerank", RerankedChunks),
            retrieved=read("validate", ValidatedChunks),
            consolidated=read("consolidate", ConsolidatedContext),
            answers=await queries.results(connection, query_id),
            progress=(await jobs.progress(connection, [line.job_id]))[line.job_id],
            notices=run.notices,
        )


EVALUATIONS = """
SELECT e.id, e.run_id FROM results AS r
JOIN job AS e ON e.kind = 'evaluation' AND (e.inputs ->> 'result_id')::bigint = r.id
WHERE r.query_id = $2 AND ($3::bigint IS NULL OR r.id = $3)
"""

JOBS = f"""
{queries.ANSWERING}
SELECT id, run_id FROM answering WHERE $3::bigint IS NULL UNION ALL {EVALUATIONS} ORDER BY id
"""


async def delete_query(connection: Connection, query_id: int) -> None:
    """Delete a question: its answers, their evaluations, its judgements, its jobs with all that was computed, and the
    model calls that no other job used. A run goes with its last job; the submission of one that keeps others makes a
    new run from then on. Raises MissingError, and StageRunningError while a stage of it runs."""
    async with connection.transaction():
        await _delete_jobs(connection, await queries.hold(connection, query_id), None)


async def delete_result(connection: Connection, query_id: int, result_id: int) -> None:
    """Delete one answer of a question with its evaluations. The attempt that made it stays, as audits need it. Raises
    MissingError, Refused without such an answer, and StageRunningError while a stage of an evaluation of it runs."""
    async with connection.transaction():
        await _delete_jobs(connection, await queries.get(connection, query_id), result_id)
        if not await rows.delete(connection, "results", id=result_id, query_id=query_id):
            raise result_missing(query_id, result_id)


async def _delete_jobs(connection: Connection, query: StoredQuery, result_id: int | None) -> None:
    """The jobs of a question with the evaluations of its answers; with an answer, the evaluations of that alone."""
    jobs = await connection.fetch(JOBS, query.job_id, query.id, result_id)
    for job in jobs:
        await edits.stage_states(connection, job["id"])
    await deletions.delete_jobs(connection, [job["id"] for job in jobs])
    for job in jobs:
        await deletions.leave_run(connection, job["run_id"], job["id"])
