"""Tokens of the API, ended by expiry or revocation; and a request that is sent twice creates one row."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest

from schemas.errors import Refused
from store import access
from store.access import PREFIX, RequestKey, Scope, end_session, hashed, once, open_session, recognise
from store.database import Connection, Database
from tests.refusals import refused
from tests.store.scored import counted
from tests.store.small_corpora import store_corpus

HOUR = timedelta(hours=1)
OVER = timedelta(seconds=-1)


async def holder(connection: Connection, secret: str | None) -> int | None:
    return (await recognise(connection, secret))[0]


async def test_a_token_opens_and_only_its_hash_is_stored(connection: Connection) -> None:
    secret, stored = await access.create(connection, "laptop", Scope.WRITE)

    assert secret.startswith(PREFIX)
    assert len(secret) == len(PREFIX) + 43
    assert await recognise(connection, secret) == (stored.id, Scope.WRITE, True)
    assert await connection.fetchval("SELECT token_hash FROM api_token") == hashed(secret)
    assert await holder(connection, secret + "x") is None
    assert await holder(connection, "\ud800") is None


async def test_a_revoked_and_an_expired_token_do_not_open(connection: Connection) -> None:
    revoked, stored = await access.create(connection, "revoked", Scope.WRITE)
    expired, _ = await access.create(connection, "expired", Scope.WRITE, lifetime=OVER)

    ended = await access.revoke(connection, "revoked")

    assert (ended.id, ended.is_live) == (stored.id, False)
    for secret in (revoked, expired, "ragq_guess"):
        assert await holder(connection, secret) is None
        assert await open_session(connection, secret, lifetime=HOUR) is None
    assert [token.is_live for token in await access.list_all(connection)] == [False, False]
    assert not await access.any_live(connection)


async def test_a_name_is_free_again_when_its_token_has_ended(connection: Connection) -> None:
    await access.create(connection, "expired", Scope.READ, lifetime=OVER)
    await access.create(connection, "expired", Scope.READ)

    with pytest.raises(Refused, match="There is a live token 'expired' already; `ragq token revoke expired`"):
        await access.create(connection, "expired", Scope.READ)
    await access.revoke(connection, "expired")
    again, _ = await access.create(connection, "expired", Scope.READ)
    assert await holder(connection, again) is not None

    # A token is revoked by its id or name.
    first = (await access.create(connection, "first", Scope.READ))[1]

    assert (await access.revoke(connection, str(first.id))).name == "first"
    for gone in (str(first.id), "first", "third", "9" * 30):
        with pytest.raises(Refused, match="is left to revoke; `ragq token list`"):
            await access.revoke(connection, gone)
    assert await access.any_live(connection)


async def test_use_is_noted_once_a_minute(connection: Connection) -> None:
    secret, made = await access.create(connection, "laptop", Scope.READ)
    await holder(connection, secret)
    [first] = await access.list_all(connection)
    await holder(connection, secret)
    assert await access.list_all(connection) == [first]

    await connection.execute("UPDATE api_token SET used_at = now() - interval '61 seconds'")
    await holder(connection, secret)
    [later] = await access.list_all(connection)

    assert made.used_at is None
    assert first.used_at is not None and later.used_at is not None and later.used_at > first.used_at


async def test_a_session_authenticates_as_its_token_and_ends_with_it_its_time_or_its_logout(
    connection: Connection,
) -> None:
    secret, stored = await access.create(connection, "laptop", Scope.WRITE)
    kept = await open_session(connection, secret, lifetime=HOUR)
    assert kept is not None
    assert await connection.fetchval("SELECT session_hash FROM api_session") == hashed(kept)
    assert await recognise(connection, kept) == (stored.id, Scope.WRITE, True)
    assert (await access.list_all(connection))[0].used_at is not None

    over = await open_session(connection, secret, lifetime=OVER)
    left = await open_session(connection, secret, lifetime=HOUR)
    assert left is not None
    await end_session(connection, left)

    assert [await holder(connection, session) is not None for session in (over, left, kept)] == [False, False, True]
    await access.revoke(connection, "laptop")
    assert await recognise(connection, kept) == (None, None, False)
    assert await counted(connection, "api_session WHERE expires_at > now()") == [0]
    secret, _ = await access.create(connection, "laptop", Scope.WRITE, lifetime=HOUR)
    session = await open_session(connection, secret, lifetime=HOUR)
    await connection.execute("UPDATE api_token SET expires_at = now()")
    assert await recognise(connection, session) == (None, None, False)


KEY = RequestKey(principal="token:7", key="first try", request_hash="a" * 64)
Make = Callable[[Connection], Awaitable[Mapping[str, Any]]]


def corpora() -> Make:
    """Makes a corpus at each call."""
    names = iter("abcdefgh")

    async def make(connection: Connection) -> Mapping[str, Any]:
        return {"corpus": await store_corpus(connection, [], name=next(names))}

    return make


async def test_of_requests_at_the_same_time_one_makes_and_the_others_wait_for_it(database: Database) -> None:
    make = corpora()
    # The key is free again when nothing was made.
    with pytest.raises(ValueError):
        await database.once(once, KEY, Mock(side_effect=ValueError))
    made = await asyncio.gather(*(database.once(once, KEY, make) for _ in range(4)))

    assert sorted(is_new for _, is_new in made) == [False, False, False, True]
    assert len({ids["corpus"] for ids, _ in made}) == 1
    # The same request makes nothing new later either, and its key belongs to it.
    assert await database.once(once, KEY, make) == (made[0][0], False)
    assert await database.once(counted, "corpus") == [1]
    with refused("idempotency-key-reused", match="an earlier request that differs"):
        await database.once(once, replace(KEY, request_hash="b" * 64), corpora())


async def test_after_a_day_a_key_expires_and_may_be_used_again(connection: Connection) -> None:
    make = corpora()
    for key in ("a", "b"):
        await once(connection, replace(KEY, key=key), make)
    await connection.execute("UPDATE idempotency_key SET created_at = now() - interval '25 hours'")

    assert (await once(connection, replace(KEY, key="b", request_hash="b" * 64), make))[1]
    assert await counted(connection, "idempotency_key") == [1]
