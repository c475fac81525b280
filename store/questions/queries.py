"""Queries, their judgements, and their answers."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime

from pydantic import Field, computed_field

from schemas.errors import MissingError, Refused
from schemas.settings.profiles import DEMO_MODEL
from schemas.statuses import JobStatus, QueryStatus, VectorStatus
from schemas.values.base import Listed, Value
from schemas.values.documents import WorkFilter
from schemas.values.queries import Answer, AnswerBasis, AugmentedPrompt, Source
from schemas.values.requests import QuestionsWanted, SubmittedQuery
from stages.reports.words import DEMO_ANSWER_NOTICE, basis_in_words
from store import rows
from store.database import Connection, bulk_seconds
from store.runs.jobs import BATCH

KEEP = """
INSERT INTO queries (job_id, corpus_id, other_corpus_ids, external_id, original_query, reference_answer, judgements)
SELECT j.id, $2, $3, n.external_id, n.text, n.reference_answer, n.judgements
FROM unnest($5::text[], $6::text[], $7::text[], $8::jsonb[])
     WITH ORDINALITY AS n (external_id, text, reference_answer, judgements, ordinal)
JOIN job AS j ON j.run_id = $1 AND j.ordinal = n.ordinal - 1 + $4
"""

COPY = """
INSERT INTO queries (job_id, corpus_id, other_corpus_ids, external_id, original_query, reference_answer, judgements)
SELECT f.id, q.corpus_id, q.other_corpus_ids, q.external_id, q.original_query, q.reference_answer, q.judgements
FROM job AS f JOIN queries AS q ON q.job_id = f.parent_id
WHERE f.id = ANY($1::bigint[]) ORDER BY f.id
"""

# Names a question by `q.job_id`.
PROGRESS = f"""
CROSS JOIN LATERAL (
    SELECT CASE WHEN embed IS DISTINCT FROM 'done' THEN '{QueryStatus.NEEDS_EMBEDDINGS}'
                WHEN validate IS DISTINCT FROM 'done' THEN '{QueryStatus.NEEDS_RETRIEVAL}'
                WHEN consolidate IS DISTINCT FROM 'done' THEN '{QueryStatus.NEEDS_CONSOLIDATION}'
                ELSE '{QueryStatus.READY}' END AS status,
           CASE WHEN embed = 'failed' THEN '{VectorStatus.VEC_ERR}'
                WHEN embed = 'done' THEN '{VectorStatus.VEC}'
                WHEN expand = 'done' THEN '{VectorStatus.TO_VEC}' ELSE '{VectorStatus.NO_VEC}' END AS vector_status,
           validate IS NOT DISTINCT FROM 'done' AS has_retrieved_context,
           consolidate IS NOT DISTINCT FROM 'done' AS has_clean_context
    FROM (
        SELECT max(status) FILTER (WHERE stage = 'expand') AS expand,
               max(status) FILTER (WHERE stage = 'embed') AS embed,
               max(status) FILTER (WHERE stage = 'validate') AS validate,
               max(status) FILTER (WHERE stage = 'consolidate') AS consolidate
        FROM stage_run WHERE job_id = q.job_id
    ) AS stages
) AS s
"""

SHOWN = """
SELECT q.id, q.job_id, j.run_id, q.corpus_id || q.other_corpus_ids AS corpus_ids, c.name || (
           SELECT coalesce(array_agg(o.name ORDER BY i.place), '{}')
           FROM unnest(q.other_corpus_ids) WITH ORDINALITY AS i (id, place) JOIN corpus AS o ON o.id = i.id
       ) AS corpora, coalesce(j.inputs -> 'works', '{}') AS works,
       n.request ->> 'preset' AS preset, q.original_query, q.created_at, q.updated_at, j.status AS job_status, s.status,
       s.vector_status, s.has_retrieved_context, s.has_clean_context, e.output ->> 'intent' AS intent,
       coalesce(jsonb_array_length(e.output -> 'entities'), 0) AS entities_count,
       (SELECT count(*) FROM results AS r WHERE r.query_id = q.id) AS results_count
"""

STATE = f"""
JOIN job AS j ON j.id = q.job_id
JOIN run AS n ON n.id = j.run_id
JOIN corpus AS c ON c.id = q.corpus_id
{PROGRESS}
LEFT JOIN current_attempt AS e ON e.job_id = q.job_id AND e.stage = 'expand' AND e.status = 'done'
"""

QUERY = f"{SHOWN} FROM queries AS q {STATE} WHERE q.id = $1 OR q.job_id = $2"

# The lateral parts are computed for one page of questions, unless they are chosen by their status.
LINES = f"""
{SHOWN}
FROM (
    SELECT * FROM queries
    WHERE $2::bigint IS NULL
       OR (created_at, id) < ((SELECT created_at FROM queries WHERE id <= $2 ORDER BY id DESC LIMIT 1), $2)
    ORDER BY created_at DESC, id DESC LIMIT CASE WHEN $3::text[] IS NULL THEN $1::bigint END
) AS q
{STATE}
WHERE $3::text[] IS NULL OR s.status = ANY($3)
ORDER BY q.created_at DESC, q.id DESC LIMIT $1::bigint
"""

OF_RUN = "SELECT q.id FROM queries AS q JOIN job AS j ON j.id = q.job_id WHERE j.run_id = $1 ORDER BY q.id LIMIT 2"

MADE = """
SELECT r.id FROM results AS r JOIN stage_attempt AS a ON a.id = r.attempt_id
WHERE r.query_id = $1 AND a.job_id = $2 AND r.id > $3
ORDER BY r.id LIMIT 1
"""


class StoredQuery(Value):
    """A question with the job that answers it, and how far it has come."""

    id: int
    job_id: int
    run_id: int
    corpus_ids: list[int] = Field(exclude=True)
    """Those of `corpora`."""
    corpora: list[str]
    """The corpora that are searched."""
    works: WorkFilter
    """The works of them that are searched; all fields are null where all works are."""
    preset: str | None
    """The one that its run was submitted with."""
    original_query: str = Field(repr=False)
    created_at: datetime
    updated_at: datetime
    job_status: JobStatus
    """The state of the job that runs its stages. `failed` beside a `status` of `ready`: everything that a prompt needs
    is stored, and the prompt or the answer failed."""
    status: QueryStatus
    """What it needs next."""
    vector_status: VectorStatus
    has_retrieved_context: bool
    """A search is stored, whatever it found."""
    has_clean_context: bool
    """Likewise its consolidation."""
    intent: str | None
    """DEFINITION, MECHANISM, COMPARISON, APPLICATION, STUDY_DETAIL, CRITIQUE, or another text."""
    entities_count: int
    results_count: int


class StoredResult(Answer):
    """An answer to a question."""

    id: int = Field(examples=[42])
    query_id: int = Field(examples=[1])
    preset: str | None = Field(examples=["Balanced"])
    sources: tuple[Source, ...]
    """The source of each label of the prompt."""
    basis: AnswerBasis
    """What its prompt was based on, and what was lost before."""
    created_at: datetime
    updated_at: datetime

    @computed_field(examples=[["The prompt has 5 of 8 available sources."]])  # type: ignore[prop-decorator]
    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each fallback and each loss on the way to it, and on what it is worth."""
        longer = f"`ragq query run {self.query_id} --set augmentation.max_answer_tokens=4096` asks for a longer one"
        cut = [f"The answer was cut off at the token limit; {longer}."] if self.is_cut else []
        demo = [DEMO_ANSWER_NOTICE] if self.model == DEMO_MODEL else []
        return (*demo, *cut, *basis_in_words(self.basis))


async def keep(
    connection: Connection, run_id: int, corpus_ids: Sequence[int], queries: Sequence[SubmittedQuery]
) -> None:
    """Store the questions of a run to corpora, one per job in the order of its jobs, and their judgements."""
    first_corpus, *others = corpus_ids
    for first in range(0, len(queries), BATCH):
        batch = queries[first : first + BATCH]
        ids, texts = [query.id for query in batch], [query.text for query in batch]
        known = [query.reference_answer for query in batch], [json.dumps(query.judgements) for query in batch]
        of_batch = (run_id, first_corpus, others, first, ids, texts, *known)
        await connection.execute(KEEP, *of_batch, timeout=bulk_seconds(len(batch)))


async def copy(connection: Connection, job_ids: Sequence[int]) -> None:
    """Give forked jobs the questions and judgements of the jobs that they were forked from."""
    await connection.execute(COPY, job_ids)


def query_missing(query_id: int) -> MissingError:
    """A question has this number no longer, or never had."""
    return MissingError(f"There is no query {query_id}. `ragq query list` shows those there are.", slug="query-missing")


async def get(connection: Connection, query_id: int) -> StoredQuery:
    """A question by its number. Raises MissingError."""
    row = await connection.fetchrow(QUERY, query_id, None)
    if row is None:
        raise query_missing(query_id)
    return StoredQuery(**row)


async def of_job(connection: Connection, job_id: int) -> StoredQuery | None:
    """The question of a job; None when the job has none."""
    row = await connection.fetchrow(QUERY, None, job_id)
    return None if row is None else StoredQuery(**row)


async def of_run(connection: Connection, run_id: int) -> list[int]:
    """The numbers of the first two questions of a run."""
    return [row["id"] for row in await connection.fetch(OF_RUN, run_id)]


async def rewrite(connection: Connection, query_id: int, text: str) -> None:
    """Ask something else. What was computed for the old question is the caller's to invalidate."""
    await rows.update(connection, "queries", {"id": query_id}, original_query=text, updated_at=rows.NOW)


async def add_result(
    connection: Connection, query: StoredQuery, answer: Answer, prompt: AugmentedPrompt, attempt_id: int | None = None
) -> int:
    """Store an answer to a prompt beside those that the question has; its number. No attempt wrote a pasted one."""
    return await rows.insert(
        connection,
        "results",
        query_id=query.id,
        attempt_id=attempt_id,
        preset=query.preset,
        sources=json.dumps([source.model_dump(mode="json") for source in prompt.sources]),
        **vars(answer) | {name: json.dumps(getattr(answer, name)) for name in ("cited", "unknown_citations")},
        basis=prompt.model_dump_json(include={*AnswerBasis.model_fields}),
    )


async def results(connection: Connection, query_id: int) -> list[StoredResult]:
    """The answers to a question, newest first."""
    return await rows.find(connection, StoredResult, "results", order="created_at DESC, id DESC", query_id=query_id)


def result_missing(query_id: int, result_id: int) -> Refused:
    """A question has no answer of that number, or no longer."""
    return Refused(
        f"Query {query_id} has no answer {result_id}; `ragq query show {query_id}` shows its answers.",
        slug="result-missing",
    )


async def result(connection: Connection, query_id: int, result_id: int) -> StoredResult:
    """One answer to a question. Raises Refused when there is none."""
    found = await rows.get(connection, StoredResult, "results", query_id=query_id, id=result_id)
    if found is None:
        raise result_missing(query_id, result_id)
    return found


async def newest_result(connection: Connection, query_id: int) -> int:
    """The number of the newest answer to a question; 0 when it has none."""
    return int(await rows.value(connection, "results", "coalesce(max(id), 0)", query_id=query_id))


async def made_result(connection: Connection, query_id: int, *, job_id: int, after: int) -> int | None:
    """The number of the first answer behind `after` that a job made; None when there is none yet."""
    made: int | None = await connection.fetchval(MADE, query_id, job_id, after)
    return made


async def answered(connection: Connection, query_id: int) -> int:
    """How many answers of a model a question has."""
    return int(await rows.value(connection, "results", "count(*)", query_id=query_id, origin="model"))


# The job that answers a question now, and those that it moved away from.
ANSWERING = """
WITH RECURSIVE answering AS (
    SELECT id, run_id, inputs FROM job WHERE id = $1
    UNION ALL
    SELECT j.id, j.run_id, j.inputs FROM answering AS a JOIN job AS j ON j.id = (a.inputs ->> 'moved_from')::bigint
)
"""

SEARCHED = f"""
{ANSWERING}
SELECT EXISTS (
    SELECT FROM answering AS j JOIN stage_attempt AS a ON a.job_id = j.id
    WHERE a.stage = 'retrieve' AND a.outcome = 'succeeded'
)
"""


async def has_searched(connection: Connection, job_id: int) -> bool:
    """Whether a search was ever stored for the question that a job answers, by it or by a job that it moved from."""
    return bool(await connection.fetchval(SEARCHED, job_id))


async def hold(connection: Connection, query_id: int) -> StoredQuery:
    """The question as it is now, held until the transaction ends. Raises MissingError."""
    await connection.execute("SELECT FROM queries WHERE id = $1 FOR NO KEY UPDATE", query_id)
    return await get(connection, query_id)


async def move(connection: Connection, query_id: int, job_id: int) -> None:
    """Assign another job to a question. Its answers stay."""
    await rows.update(connection, "queries", {"id": query_id}, job_id=job_id, updated_at=rows.NOW)


COUNTS = f"SELECT s.status, count(*) AS queries FROM queries AS q {PROGRESS} GROUP BY s.status"


async def lines(
    connection: Connection,
    *,
    before: int | None = None,
    statuses: Collection[QueryStatus] | None = None,
    limit: int | None = 50,
) -> list[StoredQuery]:
    """Questions, newest first, all of them without a limit. `before` takes those that come after it in that order."""
    wanted = None if statuses is None else list(statuses)
    return [StoredQuery(**row) for row in await connection.fetch(LINES, limit, before, wanted)]


async def counts(connection: Connection) -> dict[QueryStatus, int]:
    """How many questions are in each status; statuses without any are absent."""
    return {QueryStatus(row["status"]): row["queries"] for row in await connection.fetch(COUNTS)}


async def listed(connection: Connection, wanted: QuestionsWanted) -> Listed[StoredQuery]:
    """A page of the questions, and how many there are."""
    statuses = None if wanted.status is None else [wanted.status]
    found = await lines(connection, before=wanted.before, statuses=statuses, limit=wanted.one_more)
    counted = await counts(connection)
    return wanted.page(found, sum(count for status, count in counted.items() if wanted.status in (None, status)))


# The lock on the corpus holds new questions back until the transaction ends.
HOLD_CORPUS = "SELECT FROM corpus WHERE id = $1 FOR UPDATE"

IDS = "SELECT id FROM queries WHERE corpus_id = $1 OR $1 = ANY(other_corpus_ids) ORDER BY id"


async def hold_corpus(connection: Connection, corpus_id: int) -> list[int]:
    """The numbers of the questions of a corpus, which gets no other before the transaction ends."""
    await connection.execute(HOLD_CORPUS, corpus_id)
    return [row["id"] for row in await connection.fetch(IDS, corpus_id)]
