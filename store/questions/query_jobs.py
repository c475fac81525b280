"""Which job answers a question: a new one after the question moved to another preset."""

from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery

# The job that answers a question now, and those that it moved away from.
ANSWERING = """
WITH RECURSIVE answering AS (
    SELECT id, run_id, inputs FROM job WHERE id = $1
    UNION ALL
    SELECT j.id, j.run_id, j.inputs FROM answering AS a JOIN job AS j ON j.id = (a.inputs ->> 'moved_from')::bigint
)
"""

SEARCHED = f"""
{ANSWERING}
SELECT EXISTS (
    SELECT FROM answering AS j JOIN stage_attempt AS a ON a.job_id = j.id
    WHERE a.stage = 'retrieve' AND a.outcome = 'succeeded'
)
"""

HOLD = "SELECT FROM queries WHERE id = $1 FOR NO KEY UPDATE"

MOVE = "UPDATE queries SET job_id = $2, updated_at = now() WHERE id = $1"

SHOW = "UPDATE job SET inputs = inputs || jsonb_build_object('shown', $2::integer) WHERE id = $1"

SHOWN = "SELECT (inputs ->> 'shown')::integer FROM job WHERE id = $1"

# What is not asked for is not among the inputs.
ASK_FOR = """
UPDATE job SET inputs = (inputs - '{top_n,light_model}'::text[]) || jsonb_strip_nulls(
    jsonb_build_object('top_n', $2::integer, 'light_model', nullif($3::boolean, false))
)
WHERE id = $1
"""


async def has_searched(connection: Connection, job_id: int) -> bool:
    """Whether a search was ever stored for the question that a job answers, by it or by a job that it moved from."""
    found: bool = await connection.fetchval(SEARCHED, job_id)
    return found


async def hold(connection: Connection, query_id: int) -> StoredQuery | None:
    """The question as it is now, held until the transaction ends; None when it is gone."""
    await connection.execute(HOLD, query_id)
    return await queries.by_id(connection, query_id)


async def sources(connection: Connection, job_id: int) -> int | None:
    """How many sources were asked for; None where the preset decides."""
    asked: int | None = await connection.fetchval("SELECT (inputs ->> 'top_n')::integer FROM job WHERE id = $1", job_id)
    return asked


async def ask_for(connection: Connection, job_id: int, *, top_n: int | None, light_model: bool) -> None:
    """Set how many sources the next prompt shows, where None leaves it to the preset, and which model is asked.

    That is the light model, which expands and answers from now on, or the model of all questions.
    """
    await connection.execute(ASK_FOR, job_id, top_n, light_model)


async def show(connection: Connection, job_id: int, top_n: int) -> None:
    """Note how many sources the prompt has that was shown last."""
    await connection.execute(SHOW, job_id, top_n)


async def shown(connection: Connection, job_id: int) -> int | None:
    """How many sources the prompt had that was shown last; None when none was."""
    found: int | None = await connection.fetchval(SHOWN, job_id)
    return found


async def move(connection: Connection, query_id: int, job_id: int) -> None:
    """Assign another job to a question. Its answers stay."""
    await connection.execute(MOVE, query_id, job_id)
