"""A query's chain, run step by step: each step runs some stages and ends the chain after them.

Rows change here; the dispatcher sends what is due once the change is committed, and before other work.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from schemas.chains import stages_of
from schemas.errors import QueryValueError, Refused
from schemas.statuses import StageStatus
from services.questions.lookup import lock_query, not_ready
from services.questions.moves import move, planned_move
from store.database import Connection
from store.questions import query_jobs
from store.questions.queries import StoredQuery
from store.runs import backlog, edits

#: Sources that a prompt can show at most.
MAX_SOURCES: Final = 20


class Step(StrEnum):
    """A part of a query's chain."""

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
    values: Mapping[str, Any] = MappingProxyType({}),
    top_n: int | None = None,
    use_light_model: bool = False,
) -> StoredQuery:
    """Run the stages of a step, and with `through` those of the steps after it up to that one.

    The rest as for `run_stages`.
    """
    first, last = STAGES[step][0], STAGES[through or step][1]
    return await run_stages(
        connection,
        query,
        first=first,
        last=last,
        preset=preset,
        values=values,
        top_n=top_n,
        use_light_model=use_light_model,
    )


async def run_stages(
    connection: Connection,
    query: StoredQuery,
    *,
    first: str | None = None,
    last: str | None = None,
    preset: str | None = None,
    values: Mapping[str, Any] = MappingProxyType({}),
    top_n: int | None = None,
    use_light_model: bool = False,
) -> StoredQuery:
    """Run the stages of a query from `first` to `last`, again where they ran before, and end its chain after `last`.

    Without `first` it continues with the first stage that is not done, a failed one too; without `last` it runs to
    the answer. A prompt or an answer without a consolidation is made from the retrieved chunks. `top_n` is the number
    of sources in the prompt, 1 to 20; None uses the preset's. Where only the answer is missing and another number, or
    a preset, is chosen, the prompt is made again. With `use_light_model` the light model of the run expands or
    answers, until the next step.

    With `preset`, or `values` that win over those of the preset, the query moves to a run with these values, unless
    it is in one, and the chain starts at the first stage whose values differ, if that is before `first`. A query that
    named none of them when it was submitted takes the default preset at its first search. The returned query names
    the job to wait for.

    Raises Refused while an earlier step is not done, without `first` when every stage is done, and for a stage that
    there is not; StageRunningError, QueryMissingError, QueryValueError for another `top_n`, and what a move raises.
    """
    if top_n is not None and not 1 <= top_n <= MAX_SOURCES:
        raise QueryValueError("top_n", f"is {top_n}; choose from 1 to {MAX_SOURCES}")
    chain = stages_of("query", "answer", until=last)
    async with connection.transaction():
        query = await lock_query(connection, query.id)
        stored = await edits.stage_states(connection, query.job_id)
        done = {of.stage for of in stored if of.status == StageStatus.DONE}
        missing = next((stage for stage in chain if stage not in done), None)
        if first is not None and first not in chain:
            raise Refused(f"Stage '{first}' is not one of those up to '{chain[-1]}': {', '.join(chain)}.")
        if first in ("augment", "generate") and missing == "consolidate":
            # The prompt has the retrieved chunks as its sources, and states it.
            chain = tuple(stage for stage in chain if stage != "consolidate")
            missing = next(stage for stage in chain if stage not in done)
        if first is not None and missing is not None and chain.index(missing) < chain.index(first):
            raise not_ready(query.id, _named(first), _step_of(missing))
        is_search = "retrieve" in chain[chain.index(first or missing or chain[-1]) :]
        to = await planned_move(connection, query, preset, values, searches=is_search)
        if first is None:
            first = await _next_stage(connection, query, missing, is_moving=not to.is_same, top_n=top_n)
        first = min((stage for stage in (first, to.first) if stage in chain), key=chain.index, default=None)
        if first is None:
            raise Refused(
                f"Every stage of query {query.id} up to its answer is done; run a step by itself to repeat it, "
                f"`ragq query run {query.id} --from generate` for another answer.",
                slug="nothing-to-do",
            )
        if not to.is_same:
            query = await move(connection, query, to, chain=chain, first=first)
        await query_jobs.ask_for(connection, query.job_id, top_n=top_n, light_model=use_light_model)
        await edits.set_stages(connection, query.job_id, chain)
        await edits.redo(connection, query.job_id, first)
        await backlog.hasten(connection, [query.job_id])
        return query


async def _next_stage(
    connection: Connection, query: StoredQuery, missing: str | None, *, is_moving: bool, top_n: int | None
) -> str | None:
    """The first stage that is not done; the prompt, where only the answer is missing and another prompt is wanted."""
    if missing != "generate":
        return missing
    is_other_prompt = is_moving or top_n != await query_jobs.sources(connection, query.job_id)
    return "augment" if is_other_prompt else missing


def _named(stage: str) -> str:
    """The step that begins with a stage, or the stage within a step."""
    return next((step for step, (first, _) in STAGES.items() if first == stage), stage)


def _step_of(stage: str) -> Step:
    whole = stages_of("query", "answer")
    return next(step for step, (_, last) in STAGES.items() if whole.index(stage) <= whole.index(last))
