"""The backlog: open jobs whose messages are not in the broker, and those whose messages seem lost.

A *flow* is what takes turns: the jobs of a run, or those of its jobs that somebody waits for. No statement reads more
of a flow than what may be sent next, however long the backlog is. Triggers empty `job.sent_at` when a job has to wait,
and notify CHANNEL.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from schemas.statuses import JobStatus, Priority
from schemas.values.runs import RunLimits, RunLimitState, is_failing
from store import rows
from store.database import Connection
from store.runs import jobs, workers
from store.runs.jobs import OPEN_JOBS

CHANNEL: Final = "ragq_due"
"""Notified when jobs are to be sent: with the id of their run, or without one for jobs that were added."""

BY_INDEX: Final = "SET enable_seqscan = off"
"""For sessions that only run statements which find their rows by an index: what Postgres knows of tables that grow by a
million rows in seconds must not mislead it."""

# Written as the partial index has it.
BACKLOG = f"status IN {OPEN_JOBS} AND sent_at IS NULL"

# Each step finds the next flow in the index, past the jobs of the one before.
FLOWS = f"""
WITH RECURSIVE flow AS (
    (SELECT run_id, is_awaited FROM job WHERE {BACKLOG} ORDER BY run_id, is_awaited LIMIT 1)
    UNION ALL
    SELECT next.run_id, next.is_awaited
    FROM flow CROSS JOIN LATERAL (
        SELECT run_id, is_awaited FROM job
        WHERE {BACKLOG} AND (run_id, is_awaited) > (flow.run_id, flow.is_awaited)
        ORDER BY run_id, is_awaited LIMIT 1
    ) AS next
)
SELECT flow.run_id, flow.is_awaited, r.kind, r.priority FROM flow JOIN run AS r ON r.id = flow.run_id
"""

OLDEST = f"""
SELECT f.run_id, f.is_awaited, j.id
FROM unnest($1::bigint[], $2::boolean[], $3::bigint[], $4::bigint[]) AS f (run_id, is_awaited, after, wanted)
CROSS JOIN LATERAL (
    SELECT id FROM job
    WHERE run_id = f.run_id AND is_awaited = f.is_awaited AND id > f.after AND {BACKLOG}
    ORDER BY run_id, is_awaited, id LIMIT f.wanted
) AS j
"""

# By their keys alone, and looked at then: where a backlog has grown by a million since Postgres counted it, the index
# of the backlog looks cheaper to search for a hundred keys, and takes a second.
SENT = f"""
WITH held AS MATERIALIZED (
    SELECT id, status, sent_at FROM job WHERE id = ANY($1::bigint[]) FOR NO KEY UPDATE SKIP LOCKED
), free AS (
    SELECT id FROM held WHERE {BACKLOG}
)
UPDATE job SET sent_at = coalesce(d.until, now())
FROM free JOIN unnest($1::bigint[], $2::timestamptz[]) AS d (id, until) ON d.id = free.id
WHERE job.id = free.id
RETURNING job.id
"""

NOT_SENT = f"UPDATE job SET sent_at = NULL WHERE id = ANY($1::bigint[]) AND status IN {OPEN_JOBS}"

# What was sent and is not finished is bounded by what the workers take, not by the backlog. A job whose time has come
# was marked with it. A stage that follows a stored one was sent by the worker that stored it, if that did not die.
UNCLAIMED = f"""
SELECT j.id AS job_id, j.run_id, coalesce(s.queue, s.stage) AS queue, s.enq_n AS resent,
       coalesce(j.sent_at = s.not_before, false) AS is_due_now,
       extract(epoch FROM now() - greatest(j.sent_at, s.enq_at))::float8 AS waited_s
FROM job AS j JOIN stage_run AS s ON s.job_id = j.id AND s.status = 'ready'
WHERE j.status IN {OPEN_JOBS} AND j.sent_at IS NOT NULL AND j.sent_at <= now()
"""

# Those that wait for a time: a retry, or a language model that takes no more calls now.
SET_ASIDE = f"""
SELECT coalesce(s.queue, s.stage) AS queue, j.kind,
       CASE WHEN j.is_awaited THEN 'interactive' ELSE r.priority END AS priority, count(*) AS jobs
FROM job AS j JOIN stage_run AS s ON s.job_id = j.id AND s.status = 'ready' JOIN run AS r ON r.id = j.run_id
WHERE j.status IN {OPEN_JOBS} AND j.sent_at IS NOT NULL AND j.sent_at > now()
GROUP BY 1, 2, 3
"""

LOST = f"""
WITH free AS (
    SELECT s.job_id, s.stage FROM stage_run AS s JOIN job AS j ON j.id = s.job_id
    WHERE s.job_id = ANY($1::bigint[]) AND s.status = 'ready' AND j.status IN {OPEN_JOBS} AND j.sent_at <= now()
    FOR UPDATE OF s SKIP LOCKED
), again AS (
    UPDATE stage_run AS s SET enq_n = s.enq_n + 1
    FROM free WHERE s.job_id = free.job_id AND s.stage = free.stage
)
UPDATE job SET sent_at = NULL FROM free WHERE job.id = free.job_id
RETURNING job.id
"""

AWAITED = f"""
UPDATE job SET is_awaited = true, sent_at = NULL WHERE id = ANY($1::bigint[]) AND status IN {OPEN_JOBS}
RETURNING pg_notify('{CHANNEL}', run_id::text)
"""


class Flow(NamedTuple):
    """What takes turns: the jobs of a run, or those of its jobs that somebody waits for."""

    run_id: int
    is_awaited: bool


class FlowKind(NamedTuple):
    """What a flow consists of."""

    kind: str
    priority: Priority


class Unclaimed(NamedTuple):
    """A stage whose message was sent, and that no worker has claimed so far."""

    job_id: int
    run_id: int
    queue: str
    resent: int
    """How often its message was sent again."""
    is_due_now: bool
    """It waited until now: its message was not sent at all."""
    waited_s: float


async def flows(connection: Connection) -> dict[Flow, FlowKind]:
    """Every flow with jobs in the backlog."""
    return {
        Flow(row["run_id"], row["is_awaited"]): FlowKind(
            row["kind"], Priority.INTERACTIVE if row["is_awaited"] else Priority(row["priority"])
        )
        for row in await connection.fetch(FLOWS)
    }


async def oldest(
    connection: Connection, after: Mapping[Flow, int], wanted: Mapping[Flow, int]
) -> dict[Flow, list[int]]:
    """The oldest jobs of each flow behind the job `after`, as many as wanted. Flows without any are absent."""
    found: dict[Flow, list[int]] = {}
    oldest_first = await connection.fetch(
        OLDEST,
        [flow.run_id for flow in wanted],
        [flow.is_awaited for flow in wanted],
        [after.get(flow, 0) for flow in wanted],
        list(wanted.values()),
    )
    for row in oldest_first:
        found.setdefault(Flow(row["run_id"], row["is_awaited"]), []).append(row["id"])
    return {flow: sorted(job_ids) for flow, job_ids in found.items()}


async def mark_sent(connection: Connection, until: Mapping[int, datetime | None]) -> set[int]:
    """Take jobs out of the backlog, those with a time until then. Those that were in it."""
    return {row["id"] for row in await connection.fetch(SENT, list(until), list(until.values()))}


async def mark_not_sent(connection: Connection, job_ids: Sequence[int]) -> None:
    """Put jobs back whose messages the broker did not take."""
    await connection.execute(NOT_SENT, list(job_ids))


async def unclaimed(connection: Connection) -> list[Unclaimed]:
    """The stages whose messages were sent, and that wait for a worker."""
    return [Unclaimed(**dict(row)) for row in await connection.fetch(UNCLAIMED)]


async def set_aside(connection: Connection) -> list[tuple[str, FlowKind, int]]:
    """How many jobs wait for a time, by the queue that they wait with."""
    return [
        (row["queue"], FlowKind(row["kind"], Priority(row["priority"])), row["jobs"])
        for row in await connection.fetch(SET_ASIDE)
    ]


async def take_back(connection: Connection, job_ids: Sequence[int]) -> list[int]:
    """Put jobs back whose messages seem lost. Those that were not claimed meanwhile."""
    return [row["id"] for row in await connection.fetch(LOST, list(job_ids))]


async def hasten(connection: Connection, job_ids: Sequence[int]) -> None:
    """Send jobs as soon as possible, also those that were sent: somebody waits, or their stages have changed."""
    await connection.execute(AWAITED, list(job_ids))


# A row waits since its message was first sent. Where it had to be sent again, that moment is gone, and it waits since
# its worker was lost, or the stage before it was stored.
QUEUES = f"""
SELECT coalesce(s.queue, s.stage) AS queue, count(*) AS due,
       extract(epoch FROM now() - min(greatest(
           CASE WHEN s.enq_n = 0 THEN s.enq_at END,
           CASE WHEN s.enq_n > 0 OR s.enq_at IS NULL THEN coalesce(s.finished_at, b.finished_at, j.created_at) END,
           s.not_before
       )))::float8 AS oldest_seconds
FROM stage_run AS s
JOIN job AS j ON j.id = s.job_id
LEFT JOIN stage_run AS b ON b.job_id = s.job_id AND b.position = s.position - 1
WHERE s.status = 'ready' AND j.status IN {OPEN_JOBS} AND (s.not_before IS NULL OR s.not_before <= now())
GROUP BY 1
"""

LEASES = """
SELECT count(*) FILTER (WHERE lease_until >= now()) AS held, count(*) FILTER (WHERE lease_until < now()) AS expired
FROM stage_run WHERE status = 'running'
"""


async def queue_figures(connection: Connection) -> dict[tuple[str, ...], float]:
    """The queue as it is now, by what is counted and its labels. By queue the stages that are `due`, and the
    `oldest_seconds` that one has been so; `jobs` by kind and state; `leases` that are `held`, and those `expired` that
    the reaper has not taken back; `workers` that run."""
    found: dict[tuple[str, ...], float] = {("workers",): len(await workers.live(connection))}
    for row in await connection.fetch(QUEUES):
        found |= {(what, row["queue"]): row[what] for what in ("due", "oldest_seconds")}
    for row in await connection.fetch("SELECT kind, status, count(*) AS jobs FROM job GROUP BY kind, status"):
        found["jobs", row["kind"], row["status"]] = row["jobs"]
    leases = await connection.fetchrow(LEASES)
    return found | {("leases", state): leases[state] for state in ("held", "expired")}


SET_PRIORITY = f"UPDATE run SET priority = $2 WHERE id = $1 RETURNING pg_notify('{CHANNEL}', id::text)"


async def set_priority(connection: Connection, run_id: int, priority: Priority) -> None:
    """Change how often the jobs of a run that are not sent yet have a turn."""
    await connection.execute(SET_PRIORITY, run_id, priority)


# A call is counted before it is sent, in the statement that checks the limit, so that a run never sends more calls than
# its limit. Tokens are known after a call: a run uses at most its limit and the tokens of the calls then in progress.

KEEP = """
INSERT INTO run_limit AS l (run_id, max_failures, max_llm_calls, max_tokens, llm_calls, tokens)
SELECT $1, $2, $3, $4, count(*), coalesce(sum(coalesce(c.prompt_tokens, 0) + coalesce(c.reply_tokens, 0)), 0)
FROM job AS j JOIN stage_attempt AS a ON a.job_id = j.id JOIN llm_call_use AS u ON u.attempt_id = a.id
JOIN llm_call AS c ON c.id = u.call_id
WHERE j.run_id = $1 AND NOT u.is_reused
ON CONFLICT (run_id) DO UPDATE
SET max_failures = coalesce($2, l.max_failures), max_llm_calls = coalesce($3, l.max_llm_calls),
    max_tokens = coalesce($4, l.max_tokens)
"""

SPEND = """
UPDATE run_limit SET llm_calls = llm_calls + 1
WHERE run_id = $1 AND (max_llm_calls IS NULL OR llm_calls < max_llm_calls)
  AND (max_tokens IS NULL OR tokens < max_tokens)
RETURNING true
"""

COUNT = "UPDATE run_limit SET llm_calls = llm_calls + $2, tokens = tokens + $3 WHERE run_id = $1"

FAILURES = """
SELECT l.max_failures, count(*) AS jobs,
       count(*) FILTER (WHERE j.status IN ('succeeded', 'failed', 'poisoned')) AS finished,
       count(*) FILTER (WHERE j.status IN ('failed', 'poisoned')) AS failed
FROM run_limit AS l JOIN job AS j ON j.run_id = l.run_id
WHERE l.run_id = $1 AND l.max_failures IS NOT NULL
GROUP BY l.max_failures
"""


async def keep(connection: Connection, run_id: int, limits: RunLimits) -> None:
    """Store the limits that are given; others of the run stay. What it paid for before counts."""
    if limits.given:
        await connection.execute(KEEP, run_id, limits.max_failures, limits.max_llm_calls, limits.max_tokens)


async def find(connection: Connection, run_id: int) -> RunLimitState | None:
    """The limits of a run; None without any."""
    return await rows.get(connection, RunLimitState, "run_limit", run_id=run_id)


async def spend_call(connection: Connection, run_id: int) -> RunLimitState | None:
    """Count a call that is about to be sent; or, once the run has used its calls or tokens, its limits."""
    return None if await connection.fetchval(SPEND, run_id) else await find(connection, run_id)


async def count(connection: Connection, run_id: int, *, llm_calls: int = 0, tokens: int = 0) -> None:
    """Count what a call used, or with -1 that it was not made."""
    await connection.execute(COUNT, run_id, llm_calls, tokens)


async def stop_failing(connection: Connection, run_id: int) -> list[int]:
    """Pause the unfinished jobs of a run that has reached its limit of failures. Returns those jobs."""
    row = await connection.fetchrow(FAILURES, run_id)
    if row is None or not is_failing(**row):
        return []
    note = (
        f"{row['failed']} of {row['finished']} finished jobs failed, and the limit is {row['max_failures']}. "
        f"`ragq retry r{run_id}` tries them again, and `ragq resume r{run_id}` continues the others; with "
        "`--max-failures N` it sets another limit."
    )
    return await jobs.hold(connection, JobStatus.PAUSED, note, run_id=run_id)
