"""An answer as it is written, over a real port."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import httpx
import pytest
from httpx_sse import ServerSentEvent

from api.context import ApiContext
from schemas.values.runs import AttemptError
from store.database import Connection, Database
from store.questions.queries import StoredQuery
from store.runs import answer_pieces, jobs, stages
from tests.api.rest.conftest import Open
from tests.services.questions.questions import WHOLE, a_question, store_answer

CUT_OFF = AttemptError("schemas.errors.LLMResponseParseError", "It was cut off.", "answer_unusable", None)


class Event(NamedTuple):
    name: str
    data: Any


@pytest.fixture
async def query(connection: Connection) -> StoredQuery:
    """A question whose prompt is stored and whose answer is due."""
    return await a_question(connection, *WHOLE[:7])


@dataclass
class Writer:
    """A worker that writes the answer of a question as a test says."""

    database: Database
    query: StoredQuery
    claim: Any = None
    pieces: int = 0

    async def begin(self) -> None:
        self.claim = await self.database.once(stages.claim, self.query.job_id, "generate", "worker", 60)
        self.pieces = 0

    async def write(self, text: str) -> None:
        self.pieces += 1
        await self.database.once(answer_pieces.add, self.claim.attempt_id, self.pieces, text)

    async def store(self) -> int:
        return await self.database.once(store_answer, self.claim)

    async def fail(self, retry_in_s: float | None = None) -> None:
        await self.database.once(stages.fail, self.claim, CUT_OFF, inputs={}, retry_in_s=retry_in_s)

    async def die(self) -> None:
        async with self.database.connection() as connection:
            await connection.execute(
                "UPDATE stage_run SET lease_until = now() - interval '1 second' WHERE stage = 'generate'"
            )
            await stages.expire(connection, max_interruptions=3)


@pytest.fixture
def writer(ctx: ApiContext, query: StoredQuery) -> Writer:
    return Writer(ctx.database, query)


@pytest.fixture
def there(query: StoredQuery) -> str:
    return f"/rag/queries/{query.id}/augment/stream"


async def following(events: AsyncIterator[ServerSentEvent]) -> Event:
    found = await anext(events)
    return Event(found.event, json.loads(found.data))


async def text_until(events: AsyncIterator[ServerSentEvent], text: str) -> None:
    """Read until the text is complete. Nothing else may come before."""
    read = ""
    async for found in events:
        assert found.event == "text", found
        read += json.loads(found.data)["text"]
        assert text.startswith(read)
        if read == text:
            return
    raise AssertionError("The stream ended.")


async def test_an_answer_grows_and_ends_with_the_stored_one(
    watching: Open, writer: Writer, query: StoredQuery, there: str
) -> None:
    async with watching(there) as events:
        assert await following(events) == Event("waiting", {"query_id": query.id, "status": "running"})
        await writer.begin()
        assert await following(events) == Event("started", {"query_id": query.id, "attempt": 1})
        await writer.write("By ")
        await text_until(events, "By ")
        await writer.write("oxygen")
        await text_until(events, "oxygen")
        result_id = await writer.store()
        stored = await following(events)
        assert [event async for event in events] == []

    assert stored == Event(
        "answer",
        {
            "query_id": query.id,
            "job_id": query.job_id,
            "result_id": result_id,
            "location": f"/rag/queries/{query.id}/results/{result_id}",
        },
    )


async def test_a_new_connection_begins_with_the_whole_text(watching: Open, writer: Writer, there: str) -> None:
    await writer.begin()
    await writer.write("By ")
    await writer.write("oxygen")
    async with watching(there) as events:
        assert (await following(events)).name == "started"
        await text_until(events, "By oxygen")
        await writer.store()
        assert (await following(events)).name == "answer"


@pytest.mark.parametrize("end", ["die", "fail"])
async def test_another_attempt_begins_the_stream_anew(watching: Open, writer: Writer, there: str, end: str) -> None:
    await writer.begin()
    await writer.write("By ")
    async with watching(there) as events:
        assert (await following(events)).name == "started"
        await text_until(events, "By ")
        await (writer.die() if end == "die" else writer.fail(retry_in_s=0))
        assert (await following(events)).name == "waiting"
        await writer.begin()
        assert (await following(events)).data["attempt"] == 2
        await writer.write("Air")
        await text_until(events, "Air")


async def test_a_reply_that_cannot_be_used_is_a_failure_and_no_answer(
    watching: Open, writer: Writer, query: StoredQuery, connection: Connection, there: str
) -> None:
    await writer.begin()
    await writer.write("By ")
    async with watching(there) as events:
        assert (await following(events)).name == "started"
        await text_until(events, "By ")
        await writer.fail()
        failed = await following(events)
        assert [event async for event in events] == []

    about = {"stage": "generate", "error_type": CUT_OFF.type, "message": CUT_OFF.message}
    assert failed == Event("failed", {"query_id": query.id, "job_id": query.job_id} | about)
    await jobs.retry(connection, job_id=query.job_id)
    async with watching(there) as events:
        assert (await following(events)).name == "waiting"


async def test_the_page_shows_what_is_written_so_far(
    client: httpx.AsyncClient, writer: Writer, query: StoredQuery
) -> None:
    html = {"Accept": "text/html"}
    before = (await client.get(f"/rag/{query.id}", headers=html)).text
    await writer.begin()
    await writer.write("By <b>oxygen")
    during = (await client.get(f"/rag/{query.id}", headers=html)).text
    await writer.store()
    after = (await client.get(f"/rag/{query.id}", headers=html)).text

    assert f'data-stream="/rag/queries/{query.id}/augment/stream" hidden>' in before
    assert "By &lt;b&gt;oxygen</pre>" in during and '<noscript><meta http-equiv="refresh"' in during
    assert "data-stream" not in after
