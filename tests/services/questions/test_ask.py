"""One question, submitted repeatedly."""

import asyncio

import pytest

from schemas.errors import QueryValueError
from services.questions.edits import ask
from stages.queries.query_files import single_query
from store.access import RequestKey
from store.database import Connection, Database
from store.questions.queries import StoredQuery
from tests.refusals import refused
from tests.services.questions.questions import request, settings, store_small_corpus

KEY = RequestKey(principal="open", key="k", request_hash="a" * 64)


async def counts(connection: Connection) -> list[int]:
    of_queries = ("run WHERE kind = 'query'", "job WHERE kind = 'query'", "queries")
    return [await connection.fetchval(f"SELECT count(*) FROM {rows}") for rows in of_queries]


async def test_the_same_key_finds_the_question_that_it_made(database: Database) -> None:
    async def one(connection: Connection) -> tuple[StoredQuery, bool]:
        return await ask(connection, request(), settings(), key=KEY)

    async def on_its_own() -> tuple[StoredQuery, bool]:
        async with database.connection() as connection:
            return await one(connection)

    async with database.connection() as connection:
        await store_small_corpus(connection)
    asked = await asyncio.gather(*(on_its_own() for _ in range(3)))

    assert sorted(is_new for _, is_new in asked) == [False, False, True]
    assert len({query.id for query, _ in asked}) == 1
    async with database.connection() as connection:
        assert await counts(connection) == [1, 1, 1]
        with refused("idempotency-key-reused"):
            await ask(
                connection, request(), settings(), key=RequestKey(principal="open", key="k", request_hash="b" * 64)
            )


async def test_nothing_is_stored_when_the_request_is_refused(connection: Connection) -> None:
    await store_small_corpus(connection)

    with refused("preset-missing"):
        await ask(connection, request(config_preset="Nowhere"), settings(), key=KEY)

    assert await counts(connection) == [0, 0, 0]
    assert not await connection.fetch("SELECT * FROM idempotency_key")


@pytest.mark.parametrize(
    ("text", "problem"), [(" \n", "blank"), ("a" * 2001, "2001 characters"), ("a\x00b", "NUL"), ("\ud83d", "surrogate")]
)
def test_a_text_that_cannot_be_asked_is_refused(text: str, problem: str) -> None:
    with pytest.raises(QueryValueError, match=problem):
        single_query(text)
