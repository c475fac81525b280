"""One question, submitted repeatedly."""

import asyncio
from typing import Any

import pytest

from schemas.errors import QueryMissingError, QueryValueError
from services.questions.answers import answer
from services.questions.ask import AskResult, ask, single_query
from store.access.idempotency import RequestKey
from store.database import Connection, Database
from store.questions import queries
from tests.refusals import refused
from tests.services.questions.questions import a_question, chain, request, settings, store_small_corpus

KEY = RequestKey(principal="open", key="k", request_hash="a" * 64)


async def counts(connection: Connection) -> list[int]:
    of_queries = ("run WHERE kind = 'query'", "job WHERE kind = 'query'", "queries")
    return [await connection.fetchval(f"SELECT count(*) FROM {rows}") for rows in of_queries]


async def test_a_question_is_always_a_new_run(database: Database) -> None:
    async with database.connection() as connection:
        await store_small_corpus(connection)

        asked = [await ask(connection, request(until="expand"), settings(), key=None) for _ in range(2)]

        assert [of.is_new for of in asked] == [True, True]
        assert await counts(connection) == [2, 2, 2]
        query = await queries.by_id(connection, asked[0].query_id)
        assert query is not None
        assert (query.job_id, query.run_id, query.original_query) == (*asked[0][1:3], "Why is tea dark?")
        assert await chain(connection, query.job_id) == {"expand": "ready"}


async def test_the_same_key_finds_the_question_that_it_made(database: Database) -> None:
    async def one(connection: Connection) -> AskResult:
        return await ask(connection, request(), settings(), key=KEY)

    async def on_its_own() -> AskResult:
        async with database.connection() as connection:
            return await one(connection)

    async with database.connection() as connection:
        await store_small_corpus(connection)
    asked = await asyncio.gather(*(on_its_own() for _ in range(3)))

    assert sorted(of.is_new for of in asked) == [False, False, True]
    assert len({of[:3] for of in asked}) == 1
    async with database.connection() as connection:
        assert await counts(connection) == [1, 1, 1]
        with refused("idempotency-key-reused"):
            await ask(
                connection,
                request(),
                settings(),
                key=RequestKey(principal="open", key="k", request_hash="b" * 64),
            )


async def test_what_was_asked_and_deleted_since_is_missing(database: Database) -> None:
    async with database.connection() as connection:
        await store_small_corpus(connection)
        await ask(connection, request(), settings(), key=KEY)
        await connection.execute("DELETE FROM queries")

        with pytest.raises(QueryMissingError):
            await ask(connection, request(), settings(), key=KEY)


async def test_nothing_is_stored_when_the_request_is_refused(database: Database) -> None:
    async with database.connection() as connection:
        await store_small_corpus(connection)

        with refused("preset-missing"):
            await ask(connection, request(preset="Nowhere"), settings(), key=KEY)

        assert await counts(connection) == [0, 0, 0]
        assert not await connection.fetch("SELECT * FROM idempotency_key")


@pytest.mark.parametrize(
    ("text", "problem"), [(" \n", "blank"), ("a" * 2001, "2001 characters"), ("a\x00b", "NUL"), ("\ud83d", "surrogate")]
)
def test_a_text_that_cannot_be_asked_is_refused(text: str, problem: str) -> None:
    with pytest.raises(QueryValueError, match=problem):
        single_query(text)


def test_blanks_around_a_question_are_not_asked() -> None:
    assert single_query("  Why?\n").queries[0].text == "Why?"
    assert len(single_query(" " + "a" * 2000).queries[0].text) == 2000


async def test_a_pasted_answer_is_stored_once_under_a_key(database: Database) -> None:
    async with database.connection() as connection:
        query = await a_question(
            connection, "expand", "embed", "retrieve", "rerank", "validate", "consolidate", "augment"
        )

        given: list[Any] = [await answer(connection, query, "It is [S1].", key=key) for key in (KEY, KEY, None)]

        assert [of.is_new for of in given] == [True, False, True]
        assert [result.id for result in await queries.results(connection, query.id)] == [given[2][0], given[0][0]]
        assert given[1].result_id == given[0].result_id
