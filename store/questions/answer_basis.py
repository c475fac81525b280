"""What the prompt of a question is based on, from the outputs of its job."""

from typing import Any

from schemas.values.queries import AnswerBasis
from store.database import Connection

BASIS = """
SELECT jsonb_object_agg(f.key, f.value)
FROM current_attempt AS a
CROSS JOIN LATERAL jsonb_each(CASE a.stage
    WHEN 'embed' THEN jsonb_build_object('cut_texts', coalesce(a.output -> 'cut_texts', '0'))
    WHEN 'retrieve' THEN jsonb_build_object('found_chunks', jsonb_array_length(a.output -> 'fused'))
    WHEN 'rerank' THEN jsonb_build_object(
        'ranker', a.output -> 'ranker', 'dropped_chunks', a.output -> 'dropped',
        'kept_short', coalesce(a.output -> 'kept_short', '{}'))
    WHEN 'validate' THEN jsonb_build_object(
        'rejected_chunks',
        jsonb_array_length(jsonb_path_query_array(a.output, '$.verdicts[*] ? (@.decision != "accept")')))
    WHEN 'consolidate' THEN jsonb_build_object(
        'consolidated_count', a.output -> 'consolidated_count', 'dropped_passages', a.output -> 'dropped_short')
    WHEN 'augment' THEN jsonb_build_object(
        'context_source', a.output -> 'context_source', 'available', a.output -> 'available',
        'shown', jsonb_array_length(a.output -> 'sources'))
END) AS f
WHERE a.job_id = $1 AND a.status = 'done'
  AND a.stage IN ('embed', 'retrieve', 'rerank', 'validate', 'consolidate', 'augment')
"""


async def answer_basis(connection: Connection, job_id: int) -> AnswerBasis | None:
    """What the stored prompt of a job is based on; None while it has none."""
    found: dict[str, Any] | None = await connection.fetchval(BASIS, job_id)
    return AnswerBasis.model_validate(found) if found and "context_source" in found else None
