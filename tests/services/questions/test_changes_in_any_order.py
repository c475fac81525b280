"""Random changes to a question by users and workers: its chain stays consistent and its audit clean."""

from collections.abc import Awaitable, Callable
from typing import Final

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from schemas.errors import Refused
from schemas.values.requests import QueryEdit
from services.questions.edits import ask, edit
from services.questions.steps import Step, run_stages
from store.database import Connection, Database
from store.questions import presets, queries
from store.questions.queries import StoredQuery
from store.runs import stages
from tests.services.questions import questions
from tests.services.questions.questions import WHOLE, chain, complete_stages, flaws, job_status
from tests.store.scored import BROKEN, failing, take

Change = Callable[[Connection, StoredQuery], Awaitable[object]]


def of_due(change: Callable[[Connection, int, str], Awaitable[object]]) -> Change:
    """Changes the stage that is due, if there is one."""

    async def changed(connection: Connection, query: StoredQuery) -> None:
        for stage, status in (await chain(connection, query.job_id)).items():
            if status == "ready":
                await change(connection, query.job_id, stage)

    return changed


async def lose(connection: Connection, job_id: int, stage: str) -> None:
    await stages.claim(connection, job_id, stage, "worker", 0)
    await stages.expire(connection, max_interruptions=100)


def taking(step: Step) -> Change:
    return lambda connection, query: run_stages(connection, query.id, step)


async def change_the_preset(connection: Connection, _query: StoredQuery) -> None:
    limit = (await presets.get(connection)).preset.retrieval.dense_limit
    await presets.change(connection, "Balanced", {"retrieval.dense_limit": limit % 100 + 1}, origin="test")


CHANGES: Final[dict[str, Change]] = {
    **{f"step {step}": taking(step) for step in Step},
    "search again by the preset as it is now": lambda c, q: run_stages(
        c, q.id, Step.RETRIEVE, preset="Balanced", top_n=2
    ),
    "change the preset": change_the_preset,
    "run": lambda c, q: run_stages(c, q.id),
    "edit the intent": lambda c, q: edit(c, q.id, QueryEdit(intent="CRITIQUE"), run=False),
    "empty the intent": lambda c, q: edit(c, q.id, QueryEdit(intent=None), run=False),
    "edit the intent and run": lambda c, q: edit(c, q.id, QueryEdit(intent="COMPARISON"), run=True),
    "choose passages and run": lambda c, q: edit(c, q.id, QueryEdit(context=(3, 1)), run=True),
    "choose passages": lambda c, q: edit(c, q.id, QueryEdit(context=(2, 1)), run=False),
    "complete a stage": of_due(complete_stages),
    "complete another stage": of_due(complete_stages),
    "fail a stage": of_due(lambda c, job_id, stage: take(c, job_id, stage, failing(BROKEN))),
    "lose a stage": of_due(lose),
}


@given(changes=st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=25), done=st.integers(0, len(WHOLE)))
@example(changes=["step answer", "complete a stage", "run"], done=5)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_stages_are_done_up_to_one_and_the_job_knows(database: Database, changes: list[str], done: int) -> None:
    async with database.connection() as connection:
        if not await connection.fetchval("SELECT count(*) FROM corpus"):
            await questions.store_small_corpus(connection)
        asked, _ = await ask(connection, questions.request(), questions.settings())
        await complete_stages(connection, asked.job_id, *WHOLE[:done])
        for change in changes:
            try:
                await CHANGES[change](connection, await queries.get(connection, asked.id))
            except Refused:
                continue
            query = await queries.get(connection, asked.id)
            where = await chain(connection, query.job_id)
            is_done = [status == "done" for status in where.values()]
            # A prompt that is asked for before the consolidation is made from the retrieved chunks.
            is_early = "step answer" in changes and "augment" in where and "consolidate" not in where
            whole = tuple(stage for stage in WHOLE if stage != "consolidate" or not is_early)
            assert tuple(where) == whole[: len(where)]
            assert is_done == sorted(is_done, reverse=True)
            assert list(where.values()).count("waiting") == max(is_done.count(False) - 1, 0)
            assert (await job_status(connection, query.job_id) == "succeeded") is all(is_done)
        assert await flaws(connection) == []
