"""Questions to the API, and a worker for tests that need one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import MappingProxyType
from typing import Final

import pytest

from api.context import ApiContext
from schemas.values.queries import Answer, Origin
from schemas.values.runs import AttemptError
from store.database import Connection, Database
from store.questions import queries
from store.questions.queries import StoredQuery
from store.runs import stages
from tests.services.questions.questions import OUTPUTS, PROMPT, VECTORS, a_question, store_small_corpus

ANSWER: Final = Answer(
    origin=Origin.MODEL, model="tiny", prompt_hash="p", text="By oxygen [S1][S9].", cited=("S1",), unknown=("S9",)
)
NO_FAILURES: Final[Mapping[str, AttemptError]] = MappingProxyType({})

Ask = Callable[..., Awaitable[StoredQuery]]
Working = Callable[..., AbstractAsyncContextManager[None]]

#: For tests in which a worker answers.
waits_long = pytest.mark.parametrize("wait_seconds", [30.0])


@pytest.fixture
async def corpus(connection: Connection) -> None:
    """A corpus named `small` that can be asked."""
    await store_small_corpus(connection)


@pytest.fixture
def ask(ctx: ApiContext) -> Ask:
    """Asks a question that has the named stages done. The chain ends with the last of them, or with the expansion."""

    async def asked(*done: str) -> StoredQuery:
        async with ctx.database.connection() as connection:
            return await a_question(connection, *done, until=done[-1] if done else "expand")

    return asked


@pytest.fixture
def working(ctx: ApiContext) -> Working:
    """A worker that does every stage that is due, with outputs of the right shape. `fails` are the errors of stages."""

    @asynccontextmanager
    async def worker(fails: Mapping[str, AttemptError] = NO_FAILURES) -> AsyncIterator[None]:
        stop = asyncio.Event()
        work = asyncio.create_task(_work(ctx.database, fails, stop))
        yield
        stop.set()
        await work

    return worker


async def _work(database: Database, fails: Mapping[str, AttemptError], stop: asyncio.Event) -> None:
    while not stop.is_set():
        async with database.connection() as connection:
            due = await connection.fetchrow("SELECT job_id, stage FROM stage_run WHERE status = 'ready' LIMIT 1")
            if due is not None:
                await _do(connection, due["job_id"], due["stage"], fails)
        await asyncio.sleep(0.01)


async def _do(connection: Connection, job_id: int, stage: str, fails: Mapping[str, AttemptError]) -> None:
    claim = await stages.claim(connection, job_id, stage, "worker", 60)
    if claim is None:
        # It waited for an edit of the job, and what is due now is another stage, or this one anew.
        return
    if stage in fails:
        await stages.fail(connection, claim, fails[stage], inputs={})
        return

    async def keep_answer(connection: Connection) -> None:
        query = await queries.of_job(connection, job_id)
        assert query is not None
        attempt_id = claim.attempt_id
        await queries.add_result(connection, query.id, ANSWER, PROMPT.sources, attempt_id=attempt_id, preset="Balanced")

    is_last = stage == "generate"
    await stages.commit(
        connection,
        claim,
        inputs={},
        output=ANSWER.model_dump(mode="json") if is_last else OUTPUTS[stage],
        vectors=VECTORS if stage == "embed" else None,
        effect=keep_answer if is_last else None,
    )
