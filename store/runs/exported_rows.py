"""The rows of a run as its file has them."""

import json
from collections.abc import Mapping
from typing import Any, Final

RUN: Final = """
SELECT id, name, note, kind, identity, profile, settings, settings_hash, request, version, created_at
FROM run WHERE id = $1
"""

TABLES: Final[Mapping[str, str]] = {
    "jobs": """
SELECT id, ordinal, kind, mode, subject, inputs, status, created_at, finished_at, note
FROM job WHERE run_id = $1 ORDER BY ordinal
""",
    "stages": """
SELECT t.job_id, t.stage, t.position, t.status, t.fence, t.attempts, t.interruptions, t.retries, t.started_at,
       t.finished_at
FROM stage_run AS t JOIN job AS j ON j.id = t.job_id WHERE j.run_id = $1 ORDER BY j.ordinal, t.position
""",
    "attempts": """
SELECT a.id, a.job_id, a.stage, a.number, a.fence, a.started_at, a.ended_at, a.outcome, a.inputs, a.output,
       a.output_hash, a.previous_hash, a.hash, a.error_type, a.error_message, a.error_category, a.error_details
FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.run_id = $1 ORDER BY j.ordinal, a.id
""",
    "vectors": """
SELECT a.id AS attempt_id, t.ordinal, t.vector
FROM job AS j
JOIN stage_attempt AS a ON a.job_id = j.id
JOIN stage_vector AS t ON t.attempt_id = a.id
WHERE j.run_id = $1 ORDER BY j.ordinal, a.id, t.ordinal
""",
    "calls": """
SELECT c.id, c.key, c.model, c.digest, c.request, c.reply, c.stop_reason, c.prompt_tokens, c.reply_tokens, c.seconds,
       c.tokens, c.served_by, c.created_at, c.rejected_at
FROM llm_call AS c
WHERE c.id IN (
    SELECT u.call_id
    FROM llm_call_use AS u JOIN stage_attempt AS a ON a.id = u.attempt_id JOIN job AS j ON j.id = a.job_id
    WHERE j.run_id = $1
) ORDER BY c.id
""",
    "call_uses": """
SELECT t.attempt_id, t.ordinal, t.call_id, t.purpose, t.is_reused
FROM llm_call_use AS t JOIN stage_attempt AS a ON a.id = t.attempt_id JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 ORDER BY t.attempt_id, t.ordinal
""",
    "questions": """
SELECT q.job_id, q.external_id, (
           SELECT string_agg(k.name, ', ' ORDER BY k.name) FROM corpus AS k
           WHERE k.id = q.corpus_id OR k.id = ANY(q.other_corpus_ids)
       ) AS corpus, q.original_query, coalesce(
           (SELECT jsonb_object_agg(g.document, g.relevance) FROM query_judgement AS g WHERE g.query_id = q.id), '{}'
       ) AS judgements
FROM queries AS q JOIN job AS j ON j.id = q.job_id WHERE j.run_id = $1 ORDER BY j.ordinal
""",
}


def as_values(row: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, Any]:
    """A row with values that JSON and Parquet have; vectors in the shortest numbers that give their float32 back."""
    values = dict(row)
    for name, kind in types.items():
        if kind == "vector":
            values[name] = json.loads(f"[{','.join(map(str, values[name].to_numpy()))}]")
    return values
