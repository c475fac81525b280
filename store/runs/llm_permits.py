"""Permits for calls of language models: what all workers together may ask of a server at this moment.

*Take* gets a permit or the reason why there is none now, in one round trip, in which it may give back those of calls
that ended; *release* gives one back and brings forward the stage that waits for longest. A permit counts as long as its
stage runs under the fence that took it, so that a worker that died or lost its lease holds none.
"""

from collections.abc import Sequence
from typing import NamedTuple

from schemas.settings.process import LLMLimits
from schemas.statuses import WaitReason
from store.database import Connection

OPEN = """
SELECT NULL::bigint AS permit, CASE WHEN s.refused_until > now() THEN 'refused' END AS reason,
       extract(epoch FROM s.refused_until - now())::float8 AS wait_s
FROM (SELECT) AS one LEFT JOIN llm_server AS s ON s.server = $1
"""

TAKE = "SELECT permit, reason, wait_s FROM take_llm_permit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"

#: What belongs to the stage and its run, read with either.
_CALLER = """
SELECT t.*, w.since, coalesce(w.refusals, 0) AS refusals,
       EXISTS (SELECT FROM run_limit WHERE run_id = {run} AND coalesce(max_llm_calls, max_tokens) IS NOT NULL)
           AS has_budget
FROM ({turn}) AS t LEFT JOIN llm_wait AS w ON w.job_id = {job} AND w.stage = {stage}
"""

OPEN_TO = _CALLER.format(turn=OPEN, job="$2", stage="$3", run="$4")
TAKE_FOR = _CALLER.format(turn=TAKE, job="$2", stage="$3", run="$11")

RELEASE = """
WITH released AS (
    DELETE FROM llm_permit WHERE id = $1 RETURNING server, second, tokens
), corrected AS (
    UPDATE llm_second AS s SET tokens = greatest(s.tokens + $2 - r.tokens, 0)
    FROM released AS r WHERE s.server = r.server AND s.second = r.second AND $2::bigint IS NOT NULL
), next AS (
    SELECT s.job_id, s.stage
    FROM released AS r JOIN llm_wait AS w ON w.server = r.server AND w.reason = 'calls'
    JOIN stage_run AS s ON s.job_id = w.job_id AND s.stage = w.stage
    JOIN job AS j ON j.id = s.job_id AND j.status IN ('waiting', 'running', 'interrupted')
    WHERE s.status = 'ready' AND s.not_before = w.until AND s.not_before > now()
    ORDER BY w.since LIMIT 1
    FOR UPDATE OF s SKIP LOCKED
), sooner AS (
    UPDATE stage_run AS s SET not_before = now()
    FROM next WHERE s.job_id = next.job_id AND s.stage = next.stage
    RETURNING s.job_id
)
UPDATE job SET sent_at = NULL FROM sooner WHERE job.id = sooner.job_id RETURNING pg_notify('ragq_due', job.run_id::text)
"""

# A refusal that names no time takes 2 s, and twice the last one when the server refuses again within a minute. Calls
# that were on their way together are refused together: they count once.
REFUSE = """
INSERT INTO llm_server AS s (server, refused_until, refusals)
VALUES ($1, now() + coalesce($2::float8, 2) * interval '1 second', 0)
ON CONFLICT (server) DO UPDATE SET (refused_until, refusals) = (
    SELECT greatest(s.refused_until, now() + coalesce($2::float8, 2 * 2 ^ n.refusals) * interval '1 second'), n.refusals
    FROM (
        SELECT CASE WHEN s.refused_until > now() THEN s.refusals
                    WHEN s.refused_until > now() - interval '1 minute' THEN least(s.refusals + 1, 5)
                    ELSE 0 END AS refusals
    ) AS n
)
"""

SINCE = """
SELECT extract(epoch FROM now() - (SELECT since FROM llm_wait WHERE job_id = $1 AND stage = $2))::float8
"""


class Caller(NamedTuple):
    """The stage that calls, under the fence of its claim."""

    run_id: int
    job_id: int
    stage: str
    fence: int


class Turn(NamedTuple):
    """Whether a call may begin now."""

    permit: int | None
    """What has to be released; None where the server has no limits."""
    reason: WaitReason | None
    """Why it may not begin; None when it may."""
    wait_s: float | None
    """The time until it may, as far as it is known."""
    has_waited: bool
    """The stage was given back before, and has a row that `forget` deletes."""
    refusals: int
    """How often the server refused the call before."""
    has_budget: bool
    """The run has a limit of calls or tokens."""


class Returned(NamedTuple):
    """The permit of a call that has ended."""

    permit: int
    used_tokens: int | None
    """What takes the place of the estimate; None leaves it."""


async def take(
    connection: Connection,
    server: str,
    caller: Caller,
    tokens: int,
    limits: LLMLimits,
    returned: Sequence[Returned] = (),
) -> Turn:
    """A permit for a call of so many tokens, or the reason why there is none. Without limits no permit is needed.

    Permits of the same server that are `returned` are given back first.
    """
    if any(limits):
        row = await connection.fetchrow(
            TAKE_FOR,
            server,
            caller.job_id,
            caller.stage,
            caller.fence,
            tokens,
            *limits,
            [one.permit for one in returned],
            [one.used_tokens for one in returned],
            caller.run_id,
        )
    else:
        row = await connection.fetchrow(OPEN_TO, server, caller.job_id, caller.stage, caller.run_id)
    reason = None if row["reason"] is None else WaitReason(row["reason"])
    wait_s = row["wait_s"] if reason else None
    has_waited = row["since"] is not None
    return Turn(row["permit"], reason, wait_s, has_waited, row["refusals"], row["has_budget"])


async def release(connection: Connection, returned: Returned) -> None:
    """Give a permit back. Repeated, it does nothing."""
    await connection.execute(RELEASE, returned.permit, returned.used_tokens)


async def refuse(connection: Connection, server: str, wait_s: float | None) -> None:
    """Let no worker call a server for some seconds; without a number for 2 s, and longer when it refuses again."""
    await connection.execute(REFUSE, server, wait_s)


async def waited_s(connection: Connection, caller: Caller) -> float:
    """Seconds since the stage first had to wait; 0 when it did not wait before."""
    return await connection.fetchval(SINCE, caller.job_id, caller.stage) or 0.0


async def refusals(connection: Connection, caller: Caller) -> int:
    """How often the server refused the stage since its last answer."""
    found = await connection.fetchval(
        "SELECT refusals FROM llm_wait WHERE job_id = $1 AND stage = $2", caller.job_id, caller.stage
    )
    return found or 0


async def forget(connection: Connection, caller: Caller) -> None:
    """The stage waits no more."""
    await connection.execute("DELETE FROM llm_wait WHERE job_id = $1 AND stage = $2", caller.job_id, caller.stage)
