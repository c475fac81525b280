"""What past runs of a kind asked and took, for estimates: medians of their jobs."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from schemas.values.costs import Effort
from store.database import Connection
from store.runs.chain import COPIED, MANUAL

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


class PastWork(NamedTuple):
    """What past runs took."""

    run_ids: Sequence[int] = ()
    at_once: float = 1.0
    """How many stages were computed at the same time."""
    medians: Mapping[tuple[str, str], Effort] = {}
    """Mode and stage -> of a job; no tokens where no server counted them."""


async def past_work(connection: Connection, kind: str, modes: Collection[str], settings: Mapping[str, Any]) -> PastWork:
    """The work of the newest runs of a kind with these settings, and with jobs in one of these modes that succeeded."""
    wanted = json.dumps({name: {"value": value} for name, value in settings.items()})
    rows = await connection.fetch(MEDIANS, kind, list(modes), wanted, [MANUAL, COPIED])
    medians = {(row["mode"], row["stage"]): Effort(**row["median"]) for row in rows}
    return PastWork(rows[0]["run_ids"], rows[0]["at_once"] or 1.0, medians) if rows else PastWork()
