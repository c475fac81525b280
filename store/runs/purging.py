"""Old runs, deleted or emptied a few jobs at a time, so that nobody waits for a lock of a purge."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NamedTuple

from schemas.errors import RunActiveError
from schemas.statuses import JobStatus
from store.database import Connection
from store.runs import deletions, heads, tombstones
from store.runs.deletions import DeletedCalls
from store.runs.tombstones import OUTPUTS, RUN, Tombstone

#: Jobs that one transaction deletes or empties.
AT_ONCE: Final = 200

#: By kind, the stages whose current outputs are results: what reports and pages of results read. Runs of other kinds
#: have no results of their own: what they made is an index.
RESULTS: Final = {
    "participant": ("rerank", "validate", "score"),
    "query": ("retrieve", "rerank", "validate", "consolidate", "generate"),
    "tags": ("validate",),
    "evaluation": ("consolidate",),
}

FIND = """
SELECT r.id, r.kind, r.identity, r.settings_hash, count(j.id)::integer AS jobs
FROM run AS r LEFT JOIN job AS j ON j.run_id = r.id
WHERE r.created_at < now() - $1::interval AND ($2::bigint IS NULL OR r.id = $2)
  AND (cardinality($3::text[]) = 0 OR r.kind = ANY($3))
  AND (NOT $4::boolean OR (
      r.kind = ANY($5::text[])
      AND NOT EXISTS (SELECT FROM run_fork AS f WHERE r.id IN (f.run_id, f.parent_id))))
  AND NOT EXISTS (SELECT FROM tombstone AS t
                  WHERE t.run_id = r.id AND (t.finished_at IS NULL OR $4 AND t.what = 'outputs'))
GROUP BY r.id
HAVING coalesce(max(coalesce(j.finished_at, j.created_at)), r.created_at) < now() - $1::interval
   AND coalesce(bool_and(j.status <> ALL($6::text[])), true)
   AND (cardinality($7::text[]) = 0 OR bool_and(j.status = ANY($7)))
   AND NOT EXISTS (SELECT FROM stage_run AS s JOIN job AS w ON w.id = s.job_id
                   WHERE w.run_id = r.id AND s.status = 'running')
ORDER BY r.id
"""

ATTEMPTS = """
SELECT a.id, a.hash FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1 ORDER BY a.id
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

EMPTIED = f"SELECT a.id, a.output_hash AS hash {TO_EMPTY.format(stages='$2')} AND j.run_id = $1 ORDER BY a.id"

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

# Calls that are locked: a use that another run just added is seen. Their counts and times stay; under their key, which
# keeps the hash of the reply for anchors, they are found no more.
EMPTY_CALLS = """
WITH gone AS (
    UPDATE llm_call AS c
    SET key = CASE WHEN c.key LIKE 'purged:%' THEN c.key
                   ELSE 'purged:' || c.id || ':' || encode(sha256(convert_to(c.reply, 'UTF8')), 'hex') END,
        request = '{}', reply = '', tokens = NULL
    WHERE c.id = ANY($1::bigint[]) AND NOT EXISTS (
        SELECT FROM llm_call_use AS u JOIN stage_attempt AS a ON a.id = u.attempt_id JOIN job AS j ON j.id = a.job_id
        WHERE u.call_id = c.id AND j.run_id <> $2
    )
    RETURNING c.id
)
SELECT count(*) AS deleted, cardinality($1::bigint[]) - count(*) AS kept FROM gone
"""

JOBS_AFTER = "SELECT id FROM job WHERE run_id = $1 AND id > $2 ORDER BY id LIMIT $3"

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
    """Runs that share outputs with a fork are left as they are then."""
    is_scheduled: bool = False
    """A worker purges, as its settings say."""

    @property
    def reason(self) -> str:
        """The criteria in words, for the tombstone."""
        parts = [f"older than {self.older_than.total_seconds() / 86400:g} d"]
        parts += [f"kind {', '.join(self.kinds)}"] if self.kinds else []
        parts += [f"every job {' or '.join(self.statuses)}"] if self.statuses else []
        parts += ["by schedule"] if self.is_scheduled else []
        return "; ".join(parts)


class Old(NamedTuple):
    """A run that is to be purged."""

    id: int
    kind: str
    identity: str
    settings_hash: str
    jobs: int


@dataclass(frozen=True, kw_only=True)
class Purged:
    """What was purged of a run."""

    run_id: int
    kind: str
    what: str
    """`run`, or `outputs` where its results were kept."""
    jobs: int
    attempts: int
    """Attempts, or outputs of attempts, that are gone."""
    calls: int
    """Language model calls that no other run used."""
    kept_calls: int


async def find(connection: Connection, criteria: Criteria) -> list[Old]:
    """The runs that a purge would take, oldest first."""
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
    return [Old(**dict(row)) for row in rows]


async def begin(connection: Connection, run: Old, criteria: Criteria) -> Tombstone:
    """Record what is about to go."""
    if criteria.keep_results:
        of = await tombstones.digest(connection, EMPTIED, run.id, list(RESULTS[run.kind]))
    else:
        of = await tombstones.digest(connection, ATTEMPTS, run.id)
    return await tombstones.add(
        connection,
        run_id=run.id,
        what=OUTPUTS if criteria.keep_results else RUN,
        kind=run.kind,
        identity=run.identity,
        settings_hash=run.settings_hash,
        reason=criteria.reason,
        jobs=run.jobs,
        of=of,
        head=None if criteria.keep_results else await heads.head(connection, run.id),
    )


async def purge(connection: Connection, criteria: Criteria) -> AsyncIterator[Purged]:
    """Finish purges that were broken off, then purge every run of the criteria, each when the one before is reported.

    Raises RunActiveError at the end when somebody made a run active whose purge had begun.
    """
    active: RunActiveError | None = None
    for stone in await tombstones.unfinished(connection):
        try:
            yield await carry_out(connection, stone)
        except RunActiveError as error:
            active = error
    for run in await find(connection, criteria):
        try:
            yield await carry_out(connection, await begin(connection, run, criteria))
        except RunActiveError as error:
            active = error
    if active is not None:
        raise active


async def carry_out(connection: Connection, stone: Tombstone) -> Purged:
    """Delete or empty what a tombstone names, in short transactions. After a break it is called again.

    Raises RunActiveError when somebody made a job of the run active meanwhile.
    """
    calls = await (_delete if stone.what == RUN else _empty)(connection, stone)
    await tombstones.finish(connection, stone)
    return Purged(
        run_id=stone.run_id,
        kind=stone.kind,
        what=stone.what,
        jobs=stone.jobs,
        attempts=stone.attempts,
        calls=calls.deleted,
        kept_calls=calls.kept,
    )


async def _delete(connection: Connection, stone: Tombstone) -> DeletedCalls:
    deleted = kept = 0
    if stone.kind != "query":
        # A question may have moved to another run: those of a run are deleted together.
        while job_ids := await _jobs(connection, stone.run_id, 0):
            async with connection.transaction():
                await deletions.refuse_active(connection, stone.run_id, job_ids)
                calls = await deletions.delete_jobs(connection, job_ids)
            deleted, kept = deleted + calls.deleted, kept + calls.kept
    if await connection.fetchval("SELECT EXISTS (SELECT FROM run WHERE id = $1)", stone.run_id):
        rest = await deletions.delete_run(connection, stone.run_id)
        deleted, kept = deleted + rest.calls, kept + rest.kept_calls
    return DeletedCalls(deleted, kept)


async def _empty(connection: Connection, stone: Tombstone) -> DeletedCalls:
    deleted = kept = last = 0
    while job_ids := await _jobs(connection, stone.run_id, last):
        async with connection.transaction():
            await deletions.refuse_active(connection, stone.run_id, job_ids)
            await connection.execute(EMPTY, job_ids, list(RESULTS[stone.kind]))
            await connection.execute(REWIND, job_ids)
            call_ids = await deletions.lock_calls(connection, job_ids)
            calls = DeletedCalls(**dict(await connection.fetchrow(EMPTY_CALLS, call_ids, stone.run_id)))
        deleted, kept, last = deleted + calls.deleted, kept + calls.kept, job_ids[-1]
    return DeletedCalls(deleted, kept)


async def _jobs(connection: Connection, run_id: int, after: int) -> list[int]:
    return [row["id"] for row in await connection.fetch(JOBS_AFTER, run_id, after, AT_ONCE)]
