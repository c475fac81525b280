"""A question's chain, driven step by step: each step runs some stages and ends the chain after them.

Rows change here and nothing is sent: `dispatch.enqueue` sends, once the change is committed.
"""

from enum import StrEnum
from typing import Final

from schemas.chains import stages_of
from schemas.errors import NothingToDoError, QueryValueError, StepNotReadyError
from schemas.statuses import StageStatus
from services.questions.lookup import lock_query
from services.questions.moves import with_preset
from store.database import Connection
from store.questions import query_jobs
from store.questions.queries import StoredQuery
from store.runs import edits

#: Sources that a prompt can show at most.
MAX_SOURCES: Final = 20


class Step(StrEnum):
    """A part of a question's chain."""

    EXPAND = "expand"
    EMBED = "embed"
    #: The search with everything that chooses among what it found.
    RETRIEVE = "retrieve"
    CONSOLIDATE = "consolidate"
    #: The prompt, and the answer to it.
    ANSWER = "answer"


#: The first and the last stage of each step.
STAGES: Final = {
    Step.EXPAND: ("expand", "expand"),
    Step.EMBED: ("embed", "embed"),
    Step.RETRIEVE: ("retrieve", "validate"),
    Step.CONSOLIDATE: ("consolidate", "consolidate"),
    Step.ANSWER: ("augment", "generate"),
}


async def take_step(
    connection: Connection,
    query: StoredQuery,
    step: Step,
    *,
    through: Step | None = None,
    preset: str | None = None,
    top_n: int | None = None,
    light: bool = False,
) -> StoredQuery:
    """Let the stages of a step run, again where they ran before, and the chain end after them.

    With `through` the steps after it run too, up to that one, and the chain ends after that.
    `top_n` is the number of sources in the prompt, 1 to 20; None takes the preset's. With `light` the light model of
    the run expands or answers, until the next step. With `preset` the question moves to a run of that preset, unless
    it is in one. The returned question names the job to set off and to wait for.

    Raises StepNotReadyError while an earlier step is not done, StageRunningError, QueryMissingError, QueryValueError
    for another `top_n`, and what a move raises.
    """
    first, last = STAGES[step][0], STAGES[through or step][1]
    async with connection.transaction():
        query, done = await _hold(connection, query)
        missing = next((stage for stage in stages_of("query", "answer", until=first)[:-1] if stage not in done), None)
        if missing is not None:
            raise StepNotReadyError(query.id, step, _step_of(missing))
        return await _run(connection, query, first, last, preset, top_n, light)


async def run_remaining(
    connection: Connection, query: StoredQuery, *, preset: str | None = None, top_n: int | None = None
) -> StoredQuery:
    """Let a question go on from its first stage that is not done, a failed one too, to its answer.

    `preset`, `top_n` and what is returned as for `take_step`. The prompt is made again where only the answer is
    missing and another number of sources, or a preset, is chosen. Raises NothingToDoError when every stage is done,
    else as `take_step`.
    """
    whole = stages_of("query", "answer")
    async with connection.transaction():
        query, done = await _hold(connection, query)
        missing = next((stage for stage in whole if stage not in done), None)
        if missing is None:
            raise NothingToDoError(query.id)
        if missing == "generate" and (
            preset is not None or top_n != await query_jobs.sources(connection, query.job_id)
        ):
            missing = "augment"
        return await _run(connection, query, missing, whole[-1], preset, top_n, light=False)


async def _hold(connection: Connection, query: StoredQuery) -> tuple[StoredQuery, set[str]]:
    """The question as it is now, and which of its stages are done."""
    query = await lock_query(connection, query.id)
    chain = await edits.stage_states(connection, query.job_id)
    return query, {of.stage for of in chain if of.status == StageStatus.DONE}


async def _run(
    connection: Connection,
    query: StoredQuery,
    first: str,
    last: str,
    preset: str | None,
    top_n: int | None,
    light: bool,
) -> StoredQuery:
    if top_n is not None and not 1 <= top_n <= MAX_SOURCES:
        raise QueryValueError("top_n", f"is {top_n}; choose from 1 to {MAX_SOURCES}")
    chain = stages_of("query", "answer", until=last)
    if preset is not None:
        query = await with_preset(connection, query, preset, chain=chain, first=first)
    await query_jobs.ask_for_sources(connection, query.job_id, top_n)
    await query_jobs.ask_for_light_model(connection, query.job_id, light)
    await edits.append_stages(connection, query.job_id, chain)
    await edits.truncate_after(connection, query.job_id, last)
    await edits.redo(connection, query.job_id, first)
    return query


def _step_of(stage: str) -> Step:
    whole = stages_of("query", "answer")
    return next(step for step, (_, last) in STAGES.items() if whole.index(stage) <= whole.index(last))
