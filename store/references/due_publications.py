"""Index runs of which a part is about to be published. Commands that show a run read this and nothing of indexes."""

from store.database import Connection

# A run whose `publish` has failed waits for a person: another job would fail in the same way. So does a run with a
# cancelled job. Looked for every second: each part is read for one run after the other, by an index.
DUE = """
SELECT r.id AS run_id, j.job_id
FROM run AS r
JOIN LATERAL (SELECT participants FROM reference_index WHERE run_id = r.id ORDER BY id DESC LIMIT 1) AS i ON true
JOIN LATERAL (
    SELECT min(id) FILTER (WHERE status = 'succeeded') AS job_id,
           count(*) FILTER (WHERE status = 'succeeded') AS succeeded,
           bool_and(status IN ('succeeded', 'failed', 'poisoned')) AS is_ended
    FROM job WHERE run_id = r.id
) AS j ON true
WHERE r.kind = 'index' AND (r.request ->> 'allow_partial')::boolean AND ($1::bigint IS NULL OR r.id = $1)
  AND j.is_ended AND j.succeeded > coalesce(i.participants, 0)
  AND NOT EXISTS (
      SELECT FROM job AS f CROSS JOIN LATERAL (
          SELECT FROM stage_run WHERE job_id = f.id AND stage = 'publish' AND status = 'failed' OFFSET 0
      ) AS s
      WHERE f.run_id = r.id AND f.status IN ('failed', 'poisoned')
  )
"""

IS_DUE = f"SELECT EXISTS ({DUE})"


async def is_publication_due(connection: Connection, run_id: int) -> bool:
    """Whether every job of a run has finished and a part of its index is about to be published."""
    is_due: bool = await connection.fetchval(IS_DUE, run_id)
    return is_due
