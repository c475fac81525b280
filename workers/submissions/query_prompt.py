"""The prompt that a pasted answer is given to, stored before the answer: an answer belongs to the sources it cites."""

from schemas.errors import StepNotReadyError
from schemas.values.queries import AugmentedPrompt
from store import attempts, edits
from store.database import Connection
from store.queries import StoredQuery
from workers.pipelines import stages_of
from workers.queries.prompt import preview
from workers.submissions.query_steps import Step


async def keep_prompt(connection: Connection, query: StoredQuery, *, top_n: int | None) -> None:
    """Store the prompt with `top_n` sources by hand, and end the chain with it, unless it is the one that is stored.

    Without `top_n` any prompt that is stored will do. Raises StepNotReadyError before there is a consolidated context,
    and StageRunningError.
    """
    stored = await attempts.output(connection, query.job_id, "augment")
    if stored is not None and top_n in (None, AugmentedPrompt.model_validate(stored.value).top_n):
        return
    if await attempts.output(connection, query.job_id, "consolidate") is None:
        raise StepNotReadyError(query.id, Step.ANSWER, Step.CONSOLIDATE)
    augmented = await preview(connection, query, top_n=top_n)
    async with connection.transaction():
        await edits.lengthen(connection, query.job_id, stages_of("query", "answer", until="augment"))
        await edits.give(connection, query.job_id, "augment", augmented.model_dump(mode="json"))
        await edits.end_after(connection, query.job_id, "augment")
