"""The prompt that an answer was given to."""

from store.database import Connection

# A question that moved to another preset has been answered by several jobs.
PROMPT = """
WITH RECURSIVE answering AS (
    SELECT id, inputs FROM job WHERE id = $1
    UNION ALL
    SELECT j.id, j.inputs FROM answering AS a JOIN job AS j ON j.id = (a.inputs ->> 'moved_from')::bigint
)
SELECT a.output ->> 'prompt'
FROM answering AS j JOIN stage_attempt AS a ON a.job_id = j.id
WHERE a.stage = 'augment' AND a.outcome = 'succeeded'
  AND left(encode(sha256(convert_to(a.output ->> 'prompt', 'UTF8')), 'hex'), length($2)) = $2
ORDER BY a.id DESC LIMIT 1
"""


async def prompt(connection: Connection, job_id: int, prompt_hash: str) -> str | None:
    """The prompt of this hash among those of a question, by the job that answers it now; None when it is not kept."""
    found: str | None = await connection.fetchval(PROMPT, job_id, prompt_hash)
    return found
