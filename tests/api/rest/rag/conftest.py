"""Questions to the API, and a worker for tests that need one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import MappingProxyType

import pytest

from api.context import ApiContext
from schemas.values.runs import AttemptError
from store.database import Connection, Database
from store.questions.queries import StoredQuery
from tests.services.questions.questions import a_question, store_small_corpus, try_stage

Ask = Callable[..., Awaitable[StoredQuery]]
Working = Callable[..., AbstractAsyncContextManager[None]]


@pytest.fixture
async def corpus(connection: Connection) -> None:
    """A corpus named `small` that can be asked."""
    await store_small_corpus(connection)


@pytest.fixture
def ask(ctx: ApiContext) -> Ask:
    """Asks a question that has the named stages done. The chain ends with the last of them, or with the expansion."""

    async def asked(*done: str) -> StoredQuery:
        return await ctx.database.once(a_question, *done, until=done[-1] if done else "expand")

    return asked


@pytest.fixture
def working(ctx: ApiContext) -> Working:
    """A worker that does every stage that is due, with outputs of the right shape. `fails` are the errors of stages."""

    @asynccontextmanager
    async def worker(fails: Mapping[str, AttemptError] = MappingProxyType({})) -> AsyncIterator[None]:
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
                # An edit of the job may be what it waits for; it is tried again then.
                await try_stage(connection, due["job_id"], due["stage"], error=fails.get(due["stage"]))
        await asyncio.sleep(0.01)
