"""Questions in a line each, with how far they have come."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from schemas.statuses import JobStatus, QueryStatus, VectorStatus
from schemas.values.works import conditions_in_words
from store.database import Connection

# Names a question by `q.job_id`.
PROGRESS = f"""
CROSS JOIN LATERAL (
    SELECT CASE WHEN embed = 'failed' THEN '{QueryStatus.VEC_ERR}'
                WHEN embed IS DISTINCT FROM 'done' THEN '{QueryStatus.NEEDS_EMBEDDINGS}'
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

# The lateral parts are computed for one page of questions, unless they are chosen by their status.
LINES = f"""
SELECT q.id, q.job_id, j.run_id, c.name AS corpus, (
           SELECT coalesce(array_agg(o.name ORDER BY i.place), '{{}}')
           FROM unnest(q.other_corpus_ids) WITH ORDINALITY AS i (id, place) JOIN corpus AS o ON o.id = i.id
       ) AS other_corpora, j.inputs -> 'works' AS works,
       n.request ->> 'preset' AS preset, q.original_query, q.created_at, q.updated_at, j.status AS job_status, s.status,
       s.vector_status, s.has_retrieved_context, s.has_clean_context, e.output ->> 'intent' AS intent,
       coalesce(jsonb_array_length(e.output -> 'entities'), 0) AS entities,
       (SELECT count(*) FROM results AS r WHERE r.query_id = q.id) AS results
FROM (
    SELECT * FROM queries
    WHERE ($1::bigint IS NULL OR id = $1)
      AND ($3::bigint IS NULL
           OR (created_at, id) < ((SELECT created_at FROM queries WHERE id <= $3 ORDER BY id DESC LIMIT 1), $3))
    ORDER BY created_at DESC, id DESC LIMIT CASE WHEN $4::text[] IS NULL THEN $2::bigint END
) AS q
JOIN job AS j ON j.id = q.job_id
JOIN run AS n ON n.id = j.run_id
JOIN corpus AS c ON c.id = q.corpus_id
{PROGRESS}
LEFT JOIN current_attempt AS e ON e.job_id = q.job_id AND e.stage = 'expand' AND e.status = 'done'
WHERE $4::text[] IS NULL OR s.status = ANY($4)
ORDER BY q.created_at DESC, q.id DESC LIMIT $2::bigint
"""

COUNTS = f"SELECT s.status, count(*) AS queries FROM queries AS q {PROGRESS} GROUP BY s.status"


@dataclass(frozen=True, kw_only=True)
class QueryLine:
    """A question in one line, with how far it has come."""

    id: int
    job_id: int
    run_id: int
    corpus: str
    other_corpora: list[str]
    """Corpora that are searched together with it."""
    works: dict[str, str | int]
    """The conditions of the works that are searched, as `WorkFilter` takes them; empty for all works."""
    preset: str | None
    original_query: str = field(repr=False)
    created_at: datetime
    updated_at: datetime
    job_status: JobStatus
    status: QueryStatus
    vector_status: VectorStatus
    has_retrieved_context: bool
    """A search is stored, whatever it found."""
    has_clean_context: bool
    """Likewise its consolidation."""
    intent: str | None
    entities: int
    results: int

    @property
    def works_in_words(self) -> str:
        """The conditions in words; empty for all works."""
        return conditions_in_words(self.works)

    @property
    def corpora(self) -> list[str]:
        """The corpora that are searched, by name."""
        return [self.corpus, *self.other_corpora]


async def lines(
    connection: Connection,
    *,
    query_id: int | None = None,
    before: int | None = None,
    statuses: Collection[QueryStatus] | None = None,
    limit: int | None = 50,
) -> list[QueryLine]:
    """The newest questions, newest first, all of them without a limit; or one of them. `before` takes those that come
    after it in that order."""
    wanted = None if statuses is None else list(statuses)
    return [_line(row) for row in await connection.fetch(LINES, query_id, limit, before, wanted)]


async def counts(connection: Connection) -> dict[QueryStatus, int]:
    """How many questions are in each status; statuses without any are absent."""
    return {QueryStatus(row["status"]): row["queries"] for row in await connection.fetch(COUNTS)}


def _line(row: Mapping[str, Any]) -> QueryLine:
    return QueryLine(
        **{
            **row,
            "works": row["works"] or {},
            "job_status": JobStatus(row["job_status"]),
            "status": QueryStatus(row["status"]),
            "vector_status": VectorStatus(row["vector_status"]),
        }
    )
