"""What past runs of a kind asked and took, for estimates: medians of their jobs. Nothing of it changes a row."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from store.database import Connection
from store.runs.edits import MANUAL
from store.runs.forks import COPIED

RUNS = """
SELECT r.id, r.settings FROM run AS r
WHERE r.kind = $1 AND EXISTS (
    SELECT FROM job AS j WHERE j.run_id = r.id AND j.mode = ANY($2::text[]) AND j.status = 'succeeded'
)
ORDER BY r.id DESC LIMIT $3
"""

# The first jobs of each run: one of a million says as much as soon.
_SAMPLE = """
WITH sample AS (
    SELECT r.run_id, j.id, j.mode FROM unnest($1::bigint[]) AS r (run_id) CROSS JOIN LATERAL (
        SELECT id, mode FROM job WHERE run_id = r.run_id AND status = 'succeeded' ORDER BY ordinal LIMIT 100
    ) AS j
), tried AS (
    SELECT s.run_id, s.mode, a.id, a.stage, a.started_at, a.ended_at,
           extract(epoch FROM a.ended_at - a.started_at)::float8 AS seconds
    FROM sample AS s JOIN stage_attempt AS a ON a.job_id = s.id
    WHERE a.outcome = 'succeeded' AND a.worker_id <> ALL($2::text[])
)
"""

# What the ledger answered counts as if it had been asked again. A server may count no tokens.
STAGES = f"""
{_SAMPLE}
SELECT t.mode, t.stage, percentile_cont(0.5) WITHIN GROUP (ORDER BY t.seconds + u.saved) AS seconds,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY u.calls) AS calls,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY u.prompt_tokens) AS prompt_tokens,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY u.reply_tokens) AS reply_tokens
FROM tried AS t CROSS JOIN LATERAL (
    SELECT count(*)::float8 AS calls, coalesce(sum(c.seconds) FILTER (WHERE u.is_reused), 0)::float8 AS saved,
           CASE WHEN count(*) = count(c.prompt_tokens) THEN coalesce(sum(c.prompt_tokens), 0) END::float8
               AS prompt_tokens,
           CASE WHEN count(*) = count(c.reply_tokens) THEN coalesce(sum(c.reply_tokens), 0) END::float8 AS reply_tokens
    FROM llm_call_use AS u JOIN llm_call AS c ON c.id = u.call_id WHERE u.attempt_id = t.id
) AS u
GROUP BY t.mode, t.stage
"""

AT_ONCE = f"""
{_SAMPLE}
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY r.at_once) FROM (
    SELECT greatest(sum(seconds) / nullif(extract(epoch FROM max(ended_at) - min(started_at)), 0), 1)::float8 AS at_once
    FROM tried GROUP BY run_id
) AS r
"""


class PastRun(NamedTuple):
    """A run with jobs that succeeded."""

    id: int
    settings: dict[str, Any]


class PastStage(NamedTuple):
    """The medians of a stage over jobs of past runs in one mode."""

    seconds: float
    calls: float
    prompt_tokens: float | None
    """None where no server counted them."""
    reply_tokens: float | None


async def past_runs(connection: Connection, kind: str, modes: Sequence[str], *, limit: int) -> list[PastRun]:
    """The newest runs of a kind with jobs in one of these modes that succeeded, newest first."""
    return [PastRun(**dict(row)) for row in await connection.fetch(RUNS, kind, list(modes), limit)]


async def past_stages(connection: Connection, run_ids: Sequence[int]) -> dict[tuple[str, str], PastStage]:
    """Mode and stage -> the medians over these runs."""
    rows = await connection.fetch(STAGES, list(run_ids), [MANUAL, COPIED])
    return {(row["mode"], row["stage"]): PastStage(*list(row.values())[2:]) for row in rows}


async def at_once(connection: Connection, run_ids: Sequence[int]) -> float:
    """How many stages of these runs were computed at the same time; 1 without any run."""
    found: float | None = await connection.fetchval(AT_ONCE, list(run_ids), [MANUAL, COPIED])
    return found or 1.0
