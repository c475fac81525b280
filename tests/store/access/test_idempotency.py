"""A request that is sent twice creates one row."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from store.access import Once, RequestKey, once
from store.database import Connection, Database
from tests.refusals import refused
from tests.store.small_corpora import store_corpus

KEY = RequestKey(principal="token:7", key="first try", request_hash="a" * 64)
Make = Callable[[Connection], Awaitable[Mapping[str, Any]]]


def another(**changes: str) -> RequestKey:
    return RequestKey(**{"principal": KEY.principal, "key": KEY.key, "request_hash": KEY.request_hash} | changes)


def corpora() -> Make:
    """Makes a corpus at each call."""
    names = iter("abcdefgh")

    async def make(connection: Connection) -> Mapping[str, Any]:
        return {"corpus": await store_corpus(connection, [], name=next(names))}

    return make


async def count(database: Database, table: str) -> int:
    async with database.connection() as connection:
        counted: int = await connection.fetchval(f"SELECT count(*) FROM {table}")
    return counted


async def test_the_same_request_makes_nothing_new(database: Database) -> None:
    make = corpora()
    async with database.connection() as connection:
        first = await once(connection, KEY, make)
        second = await once(connection, KEY, make)

    assert (first.is_new, second) == (True, Once(first.made, False))
    assert await count(database, "corpus") == 1


async def test_a_key_belongs_to_one_request(connection: Connection) -> None:
    await once(connection, KEY, corpora())

    with refused("idempotency-key-reused", match="an earlier request that differs"):
        await once(connection, another(request_hash="b" * 64), corpora())


async def test_the_key_is_free_again_when_nothing_was_made(connection: Connection) -> None:
    async def fail(_connection: Connection) -> Mapping[str, Any]:
        raise ValueError

    with pytest.raises(ValueError):
        await once(connection, KEY, fail)

    assert (await once(connection, KEY, corpora())).is_new


async def test_of_requests_at_the_same_time_one_makes_and_the_others_wait_for_it(database: Database) -> None:
    make = corpora()

    async def ask() -> Once:
        async with database.connection() as connection:
            return await once(connection, KEY, make)

    made = await asyncio.gather(*(ask() for _ in range(4)))

    assert sorted(of.is_new for of in made) == [False, False, False, True]
    assert len({of.made["corpus"] for of in made}) == 1


async def test_after_a_day_a_key_expires_and_may_be_used_again(database: Database) -> None:
    make = corpora()
    async with database.connection() as connection:
        for key in ("a", "b"):
            await once(connection, another(key=key), make)
        await connection.execute("UPDATE idempotency_key SET created_at = now() - interval '25 hours'")

        assert (await once(connection, another(key="b", request_hash="b" * 64), make)).is_new

    assert await count(database, "idempotency_key") == 1
