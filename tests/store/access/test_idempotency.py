"""A request that is sent twice creates one row."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from store.access import Once, RequestKey, once
from store.database import Connection, Database
from tests.refusals import refused
from tests.store.small_corpora import store_corpus

KEY = RequestKey(principal="token:7", key="first try", request_hash="a" * 64)
Make = Callable[[Connection], Awaitable[Mapping[str, Any]]]


def corpora() -> Make:
    """Makes a corpus at each call."""
    names = iter("abcdefgh")

    async def make(connection: Connection) -> Mapping[str, Any]:
        return {"corpus": await store_corpus(connection, [], name=next(names))}

    return make


async def count(connection: Connection, table: str) -> int:
    counted: int = await connection.fetchval(f"SELECT count(*) FROM {table}")
    return counted


async def test_the_same_request_makes_nothing_new_and_its_key_belongs_to_it(connection: Connection) -> None:
    make = corpora()
    first, second = [await once(connection, KEY, make) for _ in range(2)]

    assert (first.is_new, second) == (True, Once(first.made, False))
    assert await count(connection, "corpus") == 1
    with refused("idempotency-key-reused", match="an earlier request that differs"):
        await once(connection, replace(KEY, request_hash="b" * 64), corpora())


async def test_the_key_is_free_again_when_nothing_was_made(connection: Connection) -> None:
    async def fail(_connection: Connection) -> Mapping[str, Any]:
        raise ValueError

    with pytest.raises(ValueError):
        await once(connection, KEY, fail)

    assert (await once(connection, KEY, corpora())).is_new


async def test_of_requests_at_the_same_time_one_makes_and_the_others_wait_for_it(database: Database) -> None:
    make = corpora()
    made = await asyncio.gather(*(database.once(once, KEY, make) for _ in range(4)))

    assert sorted(of.is_new for of in made) == [False, False, False, True]
    assert len({of.made["corpus"] for of in made}) == 1


async def test_after_a_day_a_key_expires_and_may_be_used_again(connection: Connection) -> None:
    make = corpora()
    for key in ("a", "b"):
        await once(connection, replace(KEY, key=key), make)
    await connection.execute("UPDATE idempotency_key SET created_at = now() - interval '25 hours'")

    assert (await once(connection, replace(KEY, key="b", request_hash="b" * 64), make)).is_new
    assert await count(connection, "idempotency_key") == 1
