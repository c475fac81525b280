"""The publication of an answer while a model writes it."""

import asyncio
from typing import Any

import pytest

from schemas.settings.run import thaw
from store.database import Connection, Database
from store.questions.queries import StoredQuery
from store.runs import answer_pieces, runs, stages
from store.runs.stages import Claim
from tests.eventually import until
from tests.fakes.chat import ScriptedChat
from tests.services.questions.questions import WHOLE, a_question
from tests.store.scored import claimed
from tests.workers.processes import ModelAlone
from workers.ledger_chat import EVERY_SECONDS, published
from workers.queries import run_generate
from workers.work import Work


@pytest.fixture
async def query(connection: Connection) -> StoredQuery:
    """A question whose prompt is stored."""
    return await a_question(connection, *WHOLE[:7])


@pytest.fixture
async def claim(connection: Connection, query: StoredQuery) -> Claim:
    """The claim on its stage `generate`."""
    return await claimed(connection, query.job_id, "generate")


async def pieces(connection: Connection) -> list[str]:
    return [row["text"] for row in await connection.fetch("SELECT text FROM answer_piece ORDER BY attempt_id, ordinal")]


async def until_published(connection: Connection, text: str) -> None:
    async def is_so() -> bool:
        return "".join(await pieces(connection)) == text

    await until(is_so, timeout_s=10)


async def test_many_pieces_become_few_writes(database: Database, connection: Connection, claim: Claim) -> None:
    async with published(database, claim.attempt_id) as on_text:
        clock = asyncio.get_running_loop().time
        began = clock()
        for _ in range(100):
            on_text("ox\0ygen \ud83d")
            await asyncio.sleep(0.01)
        await until_published(connection, "oxygen ?" * 100)
        most = (clock() - began) / EVERY_SECONDS + 1
        written = len(await pieces(connection))

    assert 2 <= written <= most


async def test_neither_nothing_nor_what_the_stored_answer_holds_anyway_is_written(
    database: Database, connection: Connection, claim: Claim
) -> None:
    async with published(database, claim.attempt_id) as on_text:
        on_text("")
        await asyncio.sleep(0.05)
        on_text("By oxygen")

    assert await pieces(connection) == []


async def test_a_database_that_is_away_does_not_fail_the_stage(
    database: Database, connection: Connection, claim: Claim
) -> None:
    await connection.execute("ALTER TABLE answer_piece RENAME TO gone")

    async with published(database, claim.attempt_id) as on_text:
        on_text("By ")
        await asyncio.sleep(0.05)
        on_text("oxygen")


async def test_the_binding_publishes_what_the_model_writes_and_stores_the_same_as_without(
    database: Database, connection: Connection, query: StoredQuery, claim: Claim
) -> None:
    is_read = asyncio.Event()

    class Writing(ScriptedChat):
        """Writes an answer, and waits until it is read."""

        async def chat(self, call: Any, on_text: Any = None) -> Any:
            reply = await super().chat(call, on_text)
            await is_read.wait()
            return reply

    settings = thaw(await runs.settings(connection, query.run_id))
    wiring: Any = ModelAlone(database, Writing(lambda call: "By oxygen [S1]."))
    running = asyncio.create_task(run_generate(Work(claim, settings.run, database, wiring, {}, settings.preset)))
    await until_published(connection, "By oxygen [S1].")
    is_read.set()
    result = await running
    output = result.output.model_dump(mode="json")
    await stages.commit(connection, claim, inputs={}, output=output, effect=result.effect)
    found = await answer_pieces.read(connection, query.id)
    kept = await connection.fetchval("SELECT reply FROM llm_call")

    assert (output["text"], kept, await pieces(connection)) == ("By oxygen [S1].", "By oxygen [S1].", [])
    assert found is not None and (found.is_awaited, found.result_id is None) == (False, False)
