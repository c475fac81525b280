"""Queries, their judgements, and their answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from schemas.errors import Refused
from schemas.settings.profiles import DEMO_MODEL
from schemas.values.queries import Answer, AnswerBasis, RelevanceJudgement, Source, SubmittedQuery
from schemas.values.works import WorkFilter
from stages.queries.citations import citations
from stages.queries.sources import basis_in_words
from stages.reports.words import DEMO_ANSWER_NOTICE
from store.database import Connection, bulk_seconds
from store.runs.bulk import BATCH

KEEP = """
INSERT INTO queries (job_id, corpus_id, other_corpus_ids, external_id, original_query, reference_answer)
SELECT j.id, $2, $6, n.external_id, n.text, n.reference_answer
FROM unnest($3::text[], $4::text[], $7::text[]) WITH ORDINALITY AS n (external_id, text, reference_answer, ordinal)
JOIN job AS j ON j.run_id = $1 AND j.ordinal = n.ordinal - 1 + $5
"""

JUDGE = """
INSERT INTO query_judgement (query_id, document, relevance)
SELECT q.id, n.document, n.relevance
FROM unnest($2::text[], $3::text[], $4::integer[]) AS n (external_id, document, relevance)
JOIN queries AS q ON q.external_id = n.external_id
JOIN job AS j ON j.id = q.job_id AND j.run_id = $1
"""

QUERY = """
SELECT q.id, q.job_id, j.run_id, q.corpus_id, q.other_corpus_ids, j.inputs -> 'works' AS works, q.external_id,
       q.original_query, q.created_at, q.updated_at
FROM queries AS q JOIN job AS j ON j.id = q.job_id
WHERE q.id = $1 OR q.job_id = $2
"""

OF_RUN = "SELECT q.id FROM queries AS q JOIN job AS j ON j.id = q.job_id WHERE j.run_id = $1 ORDER BY q.id LIMIT 2"

# The last attempt of the stage that failed.
FAILED_FOR = """
SELECT q.id
FROM job AS j
JOIN stage_run AS s ON s.job_id = j.id AND s.status = 'failed'
JOIN stage_attempt AS a ON a.job_id = s.job_id AND a.stage = s.stage AND a.number = s.attempts
JOIN queries AS q ON q.job_id = j.id
WHERE ($1::bigint IS NULL OR j.run_id = $1) AND ($2::bigint IS NULL OR j.id = $2)
  AND j.status IN ('failed', 'poisoned') AND a.error_category = $3
ORDER BY q.id LIMIT $4
"""

REWRITE = "UPDATE queries SET original_query = $2, updated_at = now() WHERE id = $1"

ADD_RESULT = """
INSERT INTO results
    (query_id, attempt_id, response_text, origin, model, prompt_hash, preset, sources, unknown_citations, is_cut, basis)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
RETURNING id
"""

# An attempt notes the model among its inputs where it is the light one.
RESULTS = """
SELECT r.id, r.query_id, r.response_text, r.origin, r.model, coalesce(a.inputs ? 'model', false) AS is_light,
       r.prompt_hash, r.preset, r.sources, r.unknown_citations, r.is_cut, r.basis, r.created_at, r.updated_at
FROM results AS r LEFT JOIN stage_attempt AS a ON a.id = r.attempt_id
WHERE r.query_id = $1 AND ($2::bigint IS NULL OR r.id = $2) ORDER BY r.created_at DESC, r.id DESC
"""

MADE = """
SELECT r.id FROM results AS r JOIN stage_attempt AS a ON a.id = r.attempt_id
WHERE r.query_id = $1 AND a.job_id = $2 AND r.id > $3
ORDER BY r.id LIMIT 1
"""


@dataclass(frozen=True, kw_only=True)
class StoredQuery:
    """A question and the job that answers it."""

    id: int
    job_id: int
    run_id: int
    corpus_id: int
    other_corpus_ids: list[int]
    works: WorkFilter
    """The works that are searched."""
    external_id: str | None
    original_query: str
    created_at: datetime
    updated_at: datetime

    @property
    def corpus_ids(self) -> list[int]:
        """The corpora that are searched."""
        return [self.corpus_id, *self.other_corpus_ids]


@dataclass(frozen=True, kw_only=True)
class StoredResult:
    """An answer."""

    id: int
    query_id: int
    response_text: str
    origin: str
    model: str | None
    is_light: bool
    """The light model of the run wrote it, where the run has two."""
    prompt_hash: str
    preset: str | None
    sources: list[dict[str, Any]]
    unknown_citations: list[str]
    is_cut: bool
    """The token limit ended it."""
    basis: AnswerBasis | None
    """What its prompt was based on; None for an answer of a version that did not store it."""
    created_at: datetime
    updated_at: datetime

    @property
    def cited(self) -> list[str]:
        """The labels of the sources that it cites; the others were only in its prompt."""
        return list(citations(self.response_text, [source["label"] for source in self.sources]).known)

    @property
    def notes(self) -> list[str]:
        """Sentences on what the answer is worth, and what was lost or replaced on the way to it."""
        longer = f"`ragq query run {self.query_id} --set augmentation.max_answer_tokens=4096` asks for a longer one"
        cut = [f"The answer was cut off at the token limit; {longer}."] if self.is_cut else []
        demo = [DEMO_ANSWER_NOTICE] if self.model == DEMO_MODEL else []
        return [*demo, *cut, *([] if self.basis is None else basis_in_words(self.basis))]


async def keep(
    connection: Connection,
    run_id: int,
    corpus_ids: Sequence[int],
    queries: Sequence[SubmittedQuery],
    judgements: Sequence[RelevanceJudgement] = (),
) -> None:
    """Store the questions of a run to corpora, one per job in the order of its jobs, and what is known about their
    answers."""
    first_corpus, *others = corpus_ids
    for first in range(0, len(queries), BATCH):
        batch = queries[first : first + BATCH]
        ids, texts = [query.external_id for query in batch], [query.text for query in batch]
        references = [query.reference_answer for query in batch]
        seconds = bulk_seconds(len(batch))
        await connection.execute(KEEP, run_id, first_corpus, ids, texts, first, others, references, timeout=seconds)
    if judgements:
        await connection.execute(
            JUDGE,
            run_id,
            [judgement.query_id for judgement in judgements],
            [judgement.document for judgement in judgements],
            [judgement.relevance for judgement in judgements],
            timeout=bulk_seconds(len(queries) + len(judgements)),
        )


async def failed_for(
    connection: Connection, category: str, *, run_id: int | None, job_id: int | None, limit: int
) -> list[int]:
    """The first questions of a run, or that of a job, whose jobs failed with an error of this category."""
    rows = await connection.fetch(FAILED_FOR, run_id, job_id, category, limit)
    return [row["id"] for row in rows]


async def by_id(connection: Connection, query_id: int) -> StoredQuery | None:
    """A question by its number; None when there is none."""
    return _query(await connection.fetchrow(QUERY, query_id, None))


async def of_job(connection: Connection, job_id: int) -> StoredQuery | None:
    """The question of a job; None when the job has none."""
    return _query(await connection.fetchrow(QUERY, None, job_id))


async def of_run(connection: Connection, run_id: int) -> list[int]:
    """The numbers of the first two questions of a run."""
    rows = await connection.fetch(OF_RUN, run_id)
    return [row["id"] for row in rows]


async def rewrite(connection: Connection, query_id: int, text: str) -> None:
    """Ask something else. What was computed for the old question is the caller's to invalidate."""
    await connection.execute(REWRITE, query_id, text)


async def total(connection: Connection) -> int:
    """How many questions there are."""
    counted: int = await connection.fetchval("SELECT count(*) FROM queries")
    return counted


async def add_result(
    connection: Connection,
    query_id: int,
    answer: Answer,
    sources: Sequence[Source],
    *,
    attempt_id: int | None,
    preset: str | None,
    basis: AnswerBasis | None = None,
) -> int:
    """Store an answer beside those that the question has, with what its prompt was based on; its number."""
    result_id: int = await connection.fetchval(
        ADD_RESULT,
        query_id,
        attempt_id,
        answer.text,
        answer.origin,
        answer.model,
        answer.prompt_hash,
        preset,
        json.dumps([source.model_dump(mode="json") for source in sources]),
        json.dumps(answer.unknown),
        answer.is_cut,
        None if basis is None else json.dumps(basis.model_dump(mode="json")),
    )
    return result_id


async def results(connection: Connection, query_id: int, *, result_id: int | None = None) -> list[StoredResult]:
    """The answers to a question, newest first; or one of them."""
    return [_result(row) for row in await connection.fetch(RESULTS, query_id, result_id)]


def result_missing(query_id: int, result_id: int) -> Refused:
    """A question has no answer of that number, or no longer."""
    return Refused(
        f"Query {query_id} has no answer {result_id}; `ragq query show {query_id}` shows its answers.",
        slug="result-missing",
    )


async def result(connection: Connection, query_id: int, result_id: int) -> StoredResult:
    """One answer to a question. Raises Refused when there is none."""
    found = await results(connection, query_id, result_id=result_id)
    if not found:
        raise result_missing(query_id, result_id)
    return found[0]


async def newest_result(connection: Connection, query_id: int) -> int:
    """The number of the newest answer to a question; 0 when it has none."""
    newest: int = await connection.fetchval("SELECT coalesce(max(id), 0) FROM results WHERE query_id = $1", query_id)
    return newest


async def made_result(connection: Connection, query_id: int, *, job_id: int, after: int) -> int | None:
    """The number of the first answer behind `after` that a job made; None when there is none yet."""
    made: int | None = await connection.fetchval(MADE, query_id, job_id, after)
    return made


async def answered(connection: Connection, query_id: int) -> int:
    """How many answers of a model a question has."""
    counted: int = await connection.fetchval(
        "SELECT count(*) FROM results WHERE query_id = $1 AND origin = 'model'", query_id
    )
    return counted


async def preset_name(connection: Connection, run_id: int) -> str | None:
    """The preset that a run was submitted with."""
    name: str | None = await connection.fetchval("SELECT request ->> 'preset' FROM run WHERE id = $1", run_id)
    return name


def _query(row: Mapping[str, Any] | None) -> StoredQuery | None:
    return None if row is None else StoredQuery(**{**row, "works": _works(row)})


def _works(row: Mapping[str, Any]) -> WorkFilter:
    return WorkFilter.model_validate(row["works"] or {})


def _result(row: Mapping[str, Any]) -> StoredResult:
    basis = row["basis"]
    return StoredResult(**{**row, "basis": None if basis is None else AnswerBasis.model_validate(basis)})
