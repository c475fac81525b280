"""The prompt that an answer was given to."""

from store.database import Connection
from store.questions.query_jobs import ANSWERING

PROMPT = f"""
{ANSWERING}
SELECT a.prompt
FROM (
    SELECT a.id, a.output ->> 'prompt' AS prompt
    FROM answering AS j JOIN stage_attempt AS a ON a.job_id = j.id
    WHERE a.stage = 'augment' AND a.outcome = 'succeeded'
) AS a
WHERE left(encode(sha256(convert_to(a.prompt, 'UTF8')), 'hex'), length($2)) = $2
ORDER BY a.id DESC LIMIT 1
"""


async def prompt(connection: Connection, job_id: int, prompt_hash: str) -> str | None:
    """The prompt of this hash among those of a question, by the job that answers it now; None when it is not kept."""
    found: str | None = await connection.fetchval(PROMPT, job_id, prompt_hash)
    return found
