"""What the calls of a run cost, and what past runs took, for estimates."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from pydantic import Field

from schemas.values.base import Value
from schemas.values.costs import Effort, StageCalls, StageWork
from store.database import Connection
from store.runs.chain import COPIED, MANUAL

CALLS = """
SELECT CASE WHEN $2 THEN a.job_id END AS job_id, a.stage, c.model,
       count(*) FILTER (WHERE NOT u.is_reused) AS calls_paid,
       count(*) FILTER (WHERE u.is_reused) AS calls_reused,
       count(*) FILTER (WHERE NOT u.is_reused AND num_nulls(c.prompt_tokens, c.reply_tokens) > 0) AS calls_uncounted,
       coalesce(sum(c.prompt_tokens) FILTER (WHERE NOT u.is_reused), 0) AS prompt_tokens,
       coalesce(sum(c.reply_tokens) FILTER (WHERE NOT u.is_reused), 0) AS reply_tokens,
       coalesce(sum(c.prompt_tokens) FILTER (WHERE NOT u.is_reused AND c.is_batched), 0) AS batched_prompt_tokens,
       coalesce(sum(c.reply_tokens) FILTER (WHERE NOT u.is_reused AND c.is_batched), 0) AS batched_reply_tokens,
       coalesce(sum(c.seconds) FILTER (WHERE NOT u.is_reused), 0)::float8 AS llm_seconds,
       coalesce(sum(c.prompt_tokens) FILTER (WHERE u.is_reused), 0) AS saved_prompt_tokens,
       coalesce(sum(c.reply_tokens) FILTER (WHERE u.is_reused), 0) AS saved_reply_tokens,
       coalesce(sum(c.seconds) FILTER (WHERE u.is_reused), 0)::float8 AS saved_seconds
FROM job AS j
JOIN stage_attempt AS a ON a.job_id = j.id
JOIN llm_call_use AS u ON u.attempt_id = a.id
JOIN llm_call AS c ON c.id = u.call_id
WHERE j.run_id = $1
GROUP BY 1, a.stage, c.model
ORDER BY 1, min(a.id), c.model
"""

# What another run computed has no times here.
WORK = f"""
SELECT CASE WHEN $2 THEN a.job_id END AS job_id, a.stage, count(a.ended_at) AS attempts,
       coalesce(sum(extract(epoch FROM a.ended_at - a.started_at)), 0)::float8 AS seconds,
       min(a.started_at) AS started_at, max(a.ended_at) AS ended_at
FROM job AS j JOIN stage_attempt AS a ON a.job_id = j.id
WHERE j.run_id = $1 AND a.worker_id <> '{COPIED}'
GROUP BY 1, a.stage ORDER BY 1, min(a.id)
"""


async def of_run(connection: Connection, run_id: int, *, by_job: bool) -> tuple[list[StageWork], list[StageCalls]]:
    """The work and the calls of each stage over all attempts, of each job or of the whole run."""
    work = [StageWork(**row) for row in await connection.fetch(WORK, run_id, by_job)]
    return work, [StageCalls(**row) for row in await connection.fetch(CALLS, run_id, by_job)]


USES = """
SELECT u.attempt_id, u.ordinal, u.purpose, u.is_reused, c.id AS call_id, c.model, c.digest,
       coalesce((c.request ->> 'draw')::bigint, 0) AS draw, CASE WHEN $2 THEN c.request END AS request,
       CASE WHEN $2 THEN c.reply END AS reply, c.stop_reason, c.prompt_tokens, c.reply_tokens, c.seconds,
       CASE WHEN $2 THEN c.tokens END AS tokens, c.rejected_at IS NOT NULL AS is_rejected,
       c.served_by ->> 'server' AS server, paid.run_id AS paid_by_run
FROM llm_call_use AS u JOIN llm_call AS c ON c.id = u.call_id
LEFT JOIN LATERAL (
    SELECT j.run_id
    FROM llm_call_use AS p JOIN stage_attempt AS a ON a.id = p.attempt_id JOIN job AS j ON j.id = a.job_id
    WHERE p.call_id = c.id AND NOT p.is_reused ORDER BY p.attempt_id LIMIT 1
) AS paid ON true
WHERE u.attempt_id = ANY($1::bigint[]) ORDER BY u.attempt_id, u.ordinal
"""

COUNTS = """
SELECT a.job_id, count(*) FILTER (WHERE NOT u.is_reused) AS llm_paid,
       count(*) FILTER (WHERE u.is_reused) AS llm_reused
FROM llm_call_use AS u JOIN stage_attempt AS a ON a.id = u.attempt_id JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 AND ($2::bigint[] IS NULL OR j.id = ANY($2)) GROUP BY a.job_id
"""


class CallUse(Value):
    """A call of a language model as an attempt made it, with request and reply where these were asked for."""

    ordinal: int
    """Its place among the calls of the attempt, from 0."""
    purpose: str = Field(examples=["validate chunk 9"])
    is_reused: bool
    """The ledger answered: nothing was paid."""
    call_id: int
    model: str = Field(examples=["gemma3:4b"])
    digest: str
    draw: int
    """The draw that the answer belongs to."""
    request: dict[str, Any] | None = Field(repr=False)
    reply: str | None = Field(repr=False)
    stop_reason: str = Field(examples=["stop"])
    prompt_tokens: int | None
    reply_tokens: int | None
    seconds: float
    """Of the one that was paid for."""
    tokens: dict[str, Any] | None = Field(repr=False)
    """The signals of the reply's tokens, where they were asked for."""
    is_rejected: bool
    """No stage could use the reply; it is never reused."""
    server: str = Field(examples=["http://127.0.0.1:11434"])
    """The server that answered."""
    paid_by_run: int | None
    """The run that paid for the answer; null when that run is deleted."""

    @property
    def origin(self) -> str:
        """Where the answer comes from: `new`, or `reused from r3`, with the draw of the run."""
        words = "new"
        if self.is_reused:
            words = "reused" if self.paid_by_run is None else f"reused from r{self.paid_by_run}"
        return f"{words}, draw {self.draw}" if self.draw else words

    @property
    def messages(self) -> list[dict[str, str]]:
        """What the model was asked; nothing where that was not read."""
        return [] if self.request is None else self.request["messages"]


async def of_attempts(
    connection: Connection, attempt_ids: Sequence[int], *, with_texts: bool = True
) -> dict[int, list[CallUse]]:
    """Every call that each of these attempts made, by its id, in order."""
    found: dict[int, list[CallUse]] = {attempt_id: [] for attempt_id in attempt_ids}
    for row in await connection.fetch(USES, list(attempt_ids), with_texts):
        values = dict(row)
        found[values.pop("attempt_id")].append(CallUse(**values))
    return found


async def counts(
    connection: Connection, run_id: int, *, job_ids: Sequence[int] | None = None
) -> dict[int, dict[str, int]]:
    """Paid and reused calls per job of a run, or of its named jobs, as a JobView has them; jobs without are absent."""
    return {row["job_id"]: dict(row) for row in await connection.fetch(COUNTS, run_id, job_ids)}


#: The newest runs of a kind that are looked at, as each of a million questions is a run; and those that are compared.
LOOKED_AT: Final = 100
COMPARED: Final = 10

# Of each run the first jobs: one of a million says as much as soon. What the ledger answered counts as if it had been
# asked again. A server may count no tokens.
MEDIANS = f"""
WITH alike AS (
    SELECT id FROM (SELECT id, settings FROM run WHERE kind = $1 ORDER BY id DESC LIMIT {LOOKED_AT}) AS newest
    WHERE settings @> $3 AND EXISTS (
        SELECT FROM job WHERE run_id = newest.id AND mode = ANY($2::text[]) AND status = 'succeeded'
    )
    ORDER BY id DESC LIMIT {COMPARED}
), tried AS (
    SELECT j.run_id, j.mode, a.id, a.stage, a.started_at, a.ended_at,
           extract(epoch FROM a.ended_at - a.started_at)::float8 AS seconds
    FROM alike CROSS JOIN LATERAL (
        SELECT id, run_id, mode FROM job WHERE run_id = alike.id AND status = 'succeeded' ORDER BY ordinal LIMIT 100
    ) AS j JOIN stage_attempt AS a ON a.job_id = j.id
    WHERE a.outcome = 'succeeded' AND a.worker_id <> ALL($4::text[])
), parallel AS (
    SELECT sum(seconds) / nullif(extract(epoch FROM max(ended_at) - min(started_at)), 0)::float8 AS stages
    FROM tried GROUP BY run_id
)
SELECT (SELECT array_agg(id ORDER BY id) FROM alike) AS run_ids,
       (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY greatest(stages, 1)) FROM parallel) AS at_once,
       t.mode, t.stage, jsonb_build_object(
           'calls_expected', percentile_cont(0.5) WITHIN GROUP (ORDER BY u.calls),
           'prompt_tokens', round(percentile_cont(0.5) WITHIN GROUP (ORDER BY u.prompt_tokens)),
           'reply_tokens', round(percentile_cont(0.5) WITHIN GROUP (ORDER BY u.reply_tokens)),
           'seconds', percentile_cont(0.5) WITHIN GROUP (ORDER BY t.seconds + u.saved)
       ) AS median
FROM tried AS t CROSS JOIN LATERAL (
    SELECT count(*) AS calls, coalesce(sum(c.seconds) FILTER (WHERE u.is_reused), 0) AS saved,
           CASE WHEN count(*) = count(c.prompt_tokens) THEN coalesce(sum(c.prompt_tokens), 0) END AS prompt_tokens,
           CASE WHEN count(*) = count(c.reply_tokens) THEN coalesce(sum(c.reply_tokens), 0) END AS reply_tokens
    FROM llm_call_use AS u JOIN llm_call AS c ON c.id = u.call_id WHERE u.attempt_id = t.id
) AS u
GROUP BY t.mode, t.stage
"""


async def past_work(
    connection: Connection, kind: str, modes: Collection[str], settings: Mapping[str, Any]
) -> tuple[list[int], float, dict[tuple[str, str], Effort]]:
    """The newest runs of a kind with these settings, and with jobs in one of these modes that succeeded; how many
    stages were computed at the same time; and, by mode and stage, the work of a job, without tokens where no server
    counted them."""
    wanted = json.dumps({name: {"value": value} for name, value in settings.items()})
    rows = await connection.fetch(MEDIANS, kind, list(modes), wanted, [MANUAL, COPIED])
    medians = {(row["mode"], row["stage"]): Effort(**row["median"]) for row in rows}
    return (rows[0]["run_ids"], rows[0]["at_once"] or 1.0, medians) if rows else ([], 1.0, medians)
