"""Old runs, deleted, or emptied but for their results: a transaction for each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NamedTuple

from schemas.errors import Refused, RunMissingError
from schemas.statuses import JobStatus
from store.database import Connection
from store.runs import deletions, stored_runs

#: By kind, the stages whose current outputs are results: what reports and pages of results read. Runs of other kinds
#: have no results of their own: what they made is an index.
RESULTS: Final = {
    "participant": ("rerank", "validate", "score"),
    "query": ("retrieve", "rerank", "validate", "consolidate", "generate"),
    "tags": ("validate",),
    "evaluation": ("consolidate",),
}

FIND = """
SELECT r.id, r.kind, count(j.id)::integer AS jobs
FROM run AS r LEFT JOIN job AS j ON j.run_id = r.id
WHERE r.created_at < now() - $1::interval AND ($2::bigint IS NULL OR r.id = $2)
  AND (cardinality($3::text[]) = 0 OR r.kind = ANY($3))
  AND (NOT $4::boolean OR (
      r.kind = ANY($5::text[]) AND r.emptied_at IS NULL))
GROUP BY r.id
HAVING coalesce(max(coalesce(j.finished_at, j.created_at)), r.created_at) < now() - $1::interval
   AND coalesce(bool_and(j.status <> ALL($6::text[])), true)
   AND (cardinality($7::text[]) = 0 OR bool_and(j.status = ANY($7)))
   AND NOT EXISTS (SELECT FROM stage_run AS s JOIN job AS w ON w.id = s.job_id
                   WHERE w.run_id = r.id AND s.status = 'running')
ORDER BY r.id
"""

# What is emptied has an output and is no result; vectors are never results.
TO_EMPTY: Final = """
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
LEFT JOIN stage_run AS s ON s.job_id = a.job_id AND s.stage = a.stage
WHERE a.output_hash IS NOT NULL AND (
    a.output IS NULL OR a.stage <> ALL({stages}::text[]) OR s.attempts IS DISTINCT FROM a.number
    OR EXISTS (SELECT FROM stage_vector AS v WHERE v.attempt_id = a.id)
)
"""

EMPTY = f"""
WITH gone AS (SELECT a.id {TO_EMPTY.format(stages="$2")} AND j.id = ANY($1::bigint[])),
vectors AS (DELETE FROM stage_vector AS v USING gone WHERE v.attempt_id = gone.id),
details AS (
    UPDATE stage_attempt SET error_details = NULL
    WHERE job_id = ANY($1) AND error_details IS NOT NULL AND output_hash IS NULL
)
UPDATE stage_attempt AS a SET output = NULL FROM gone WHERE a.id = gone.id
"""

# A retry would look for outputs that are gone: it begins with the first stage.
REWIND = """
UPDATE stage_run AS s SET status = CASE WHEN s.position = 0 THEN 'failed' ELSE 'waiting' END, finished_at = NULL
FROM job AS j WHERE j.id = s.job_id AND j.id = ANY($1::bigint[]) AND j.status IN ('failed', 'poisoned')
"""

# Calls that are locked: a use that another run just added is seen. Their counts and times stay, and no key finds them.
EMPTY_CALLS = """
WITH gone AS (
    UPDATE llm_call AS c
    SET key = 'purged:' || c.id, request = '{}', reply = '', tokens = NULL
    WHERE c.id = ANY($1::bigint[]) AND NOT EXISTS (
        SELECT FROM llm_call_use AS u JOIN stage_attempt AS a ON a.id = u.attempt_id JOIN job AS j ON j.id = a.job_id
        WHERE u.call_id = c.id AND j.run_id <> $2
    )
    RETURNING c.id
)
SELECT count(*) FROM gone
"""

JOBS = "SELECT id FROM job WHERE run_id = $1 ORDER BY id"

MARK = "UPDATE run SET emptied_at = now() WHERE id = $1"

_OPEN: Final = [status.value for status in JobStatus if status.is_open or status is JobStatus.PAUSED]


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """Which runs are purged: those that finished long ago, and nothing of which is open or paused."""

    older_than: timedelta
    run_id: int | None = None
    kinds: Sequence[str] = ()
    """Of these kinds alone, unless empty."""
    statuses: Sequence[str] = ()
    """Runs of which every job is in one of these states, unless empty."""
    keep_results: bool = False


class Old(NamedTuple):
    """A run that is to be purged."""

    id: int
    kind: str
    jobs: int


@dataclass(frozen=True, kw_only=True)
class Purged:
    """What was purged of a run."""

    run_id: int
    kind: str
    jobs: int
    attempts: int
    """Attempts that are gone, or the outputs of so many where results were kept."""
    calls: int
    """Language model calls that no other run used."""
    kept_calls: int


async def find(connection: Connection, criteria: Criteria) -> list[Old]:
    """The runs that a purge would take, oldest first. Raises Refused for a run that is named and would be left."""
    rows = await connection.fetch(
        FIND,
        criteria.older_than,
        criteria.run_id,
        list(criteria.kinds),
        criteria.keep_results,
        list(RESULTS),
        _OPEN,
        list(criteria.statuses),
    )
    if criteria.run_id is not None and not rows:
        await _refuse(connection, criteria.run_id)
    return [Old(**dict(row)) for row in rows]


async def _refuse(connection: Connection, run_id: int) -> None:
    if not await stored_runs.exists(connection, run_id=run_id):
        raise RunMissingError(run_id)
    await deletions.refuse_active(connection, run_id, [row["id"] for row in await connection.fetch(JOBS, run_id)])
    raise Refused(
        f"Run r{run_id} is none of those that these options name: it is paused, younger, of another kind or state, or "
        f"what led to its results is gone. `ragq show r{run_id}` shows it."
    )


async def purge(connection: Connection, run: Old, *, keep_results: bool) -> Purged:
    """Delete a run, or what led to its results. Raises Refused when a job of it became active meanwhile."""
    if keep_results:
        return await _empty(connection, run)
    gone = await deletions.delete_run(connection, run.id)
    return Purged(
        run_id=run.id,
        kind=run.kind,
        jobs=gone.jobs,
        attempts=gone.attempts,
        calls=gone.calls,
        kept_calls=gone.kept_calls,
    )


async def _empty(connection: Connection, run: Old) -> Purged:
    async with connection.transaction():
        job_ids = [row["id"] for row in await connection.fetch(JOBS, run.id)]
        await deletions.refuse_active(connection, run.id, job_ids)
        await connection.execute(MARK, run.id)
        outputs = await connection.execute(EMPTY, job_ids, list(RESULTS[run.kind]))
        await connection.execute(REWIND, job_ids)
        call_ids = await deletions.lock_calls(connection, job_ids)
        calls: int = await connection.fetchval(EMPTY_CALLS, call_ids, run.id)
    return Purged(
        run_id=run.id,
        kind=run.kind,
        jobs=len(job_ids),
        attempts=int(outputs.split()[-1]),
        calls=calls,
        kept_calls=len(call_ids) - calls,
    )
