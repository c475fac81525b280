"""Permits for calls of language models: what all workers together may ask of a server."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from schemas.settings.process import LLMLimits
from schemas.statuses import WaitReason
from store.database import Database
from store.runs import llm_permits, put_off, stages
from store.runs.llm_permits import Caller, Returned, Turn
from store.runs.runs import StoredRun
from store.runs.stages import Claim

StoreRun = Callable[..., Awaitable[StoredRun]]
Take = Callable[[Claim, LLMLimits], Awaitable[Turn]]

SERVER = "http://gpu:8000/v1"
TOKENS = 100


@pytest.fixture
async def claims(database: Database, store_run: StoreRun) -> Sequence[Claim]:
    """Stages that a worker holds."""
    stored = await store_run(*map(str, range(301, 306)))
    async with database.connection() as connection:
        found = [await stages.claim(connection, job_id, "extract", "worker", 60) for job_id in stored.job_ids]
    return [claim for claim in found if claim is not None]


def caller(claim: Claim) -> Caller:
    return Caller(claim.run_id, claim.job_id, claim.stage, claim.fence)


@pytest.fixture
def take(database: Database) -> Take:
    """Takes a permit for a stage."""

    async def one(claim: Claim, limits: LLMLimits) -> Turn:
        async with database.connection() as connection:
            return await llm_permits.take(connection, SERVER, caller(claim), TOKENS, limits)

    return one


async def release(database: Database, turn: Turn, used: int | None = TOKENS) -> None:
    assert turn.permit is not None
    async with database.connection() as connection:
        await llm_permits.release(connection, Returned(turn.permit, used))


async def minutes_pass(database: Database, seconds: int) -> None:
    async with database.connection() as connection:
        await connection.execute("UPDATE llm_second SET second = second - $1", seconds)


async def test_without_limits_no_permit_is_needed(claims: Sequence[Claim], take: Take) -> None:
    turns = [await take(claim, LLMLimits()) for claim in claims]

    assert turns == [Turn(None, None, None, False, 0, False)] * len(claims)


async def test_no_more_calls_are_permitted_than_the_limit_however_many_ask_at_once(
    database: Database, claims: Sequence[Claim], take: Take
) -> None:
    limits = LLMLimits(calls=2)

    turns = await asyncio.gather(*(take(claim, limits) for claim in claims for _ in range(4)))

    permitted = [turn for turn in turns if turn.reason is None]
    assert len(permitted) == 2
    assert {turn.reason for turn in turns} == {None, WaitReason.CALLS}
    await release(database, permitted[0])
    assert [(await take(claim, limits)).reason for claim in claims[:2]] == [None, WaitReason.CALLS]


async def test_a_permit_ends_with_the_claim_that_took_it(
    database: Database, claims: Sequence[Claim], take: Take
) -> None:
    await take(claims[0], LLMLimits(calls=1))
    async with database.connection() as connection:
        await connection.execute("UPDATE stage_run SET lease_until = now() - interval '1 s' WHERE job_id = $1",
                                 claims[0].job_id)  # fmt: skip
        assert (await take(claims[1], LLMLimits(calls=1))).reason is WaitReason.CALLS
        await stages.expire(connection, max_interruptions=3)

    assert (await take(claims[1], LLMLimits(calls=1))).reason is None


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (LLMLimits(requests=3), WaitReason.REQUESTS),
        (LLMLimits(tokens=3 * TOKENS), WaitReason.TOKENS),
        (LLMLimits(requests=3, tokens=10 * TOKENS), WaitReason.REQUESTS),
    ],
)
async def test_a_limit_of_a_minute_holds_over_any_60_seconds(
    database: Database, claims: Sequence[Claim], take: Take, limits: LLMLimits, reason: WaitReason
) -> None:
    for claim in claims[:3]:
        await release(database, await take(claim, limits))
        await minutes_pass(database, 20)

    # They began 60, 40 and 20 seconds ago, the first perhaps a little less: it counts for another second.
    refused = await take(claims[3], limits)
    assert (refused.reason, refused.permit) == (reason, None)
    assert refused.wait_s is not None
    assert 0 < refused.wait_s <= 1.5
    await minutes_pass(database, 1)
    assert (await take(claims[3], limits)).reason is None
    again = await take(claims[4], limits)
    assert again.wait_s is not None
    assert 18 < again.wait_s < 21


async def test_what_a_call_used_takes_the_place_of_its_estimate(
    database: Database, claims: Sequence[Claim], take: Take
) -> None:
    limits = LLMLimits(tokens=TOKENS + 10)
    first = await take(claims[0], limits)
    assert (await take(claims[1], limits)).reason is WaitReason.TOKENS

    await release(database, first, used=10)
    await release(database, first, used=0)

    assert (await take(claims[1], limits)).reason is None
    assert (await take(claims[2], limits)).reason is WaitReason.TOKENS


async def test_permits_that_are_returned_with_the_next_one_are_free_for_it(
    database: Database, claims: Sequence[Claim], take: Take
) -> None:
    limits = LLMLimits(calls=2, tokens=3 * TOKENS)
    first = [await take(claim, limits) for claim in claims[:2]]
    returned = [Returned(turn.permit, 10) for turn in first if turn.permit is not None]

    async with database.connection() as connection:
        turns = [
            await llm_permits.take(connection, SERVER, caller(claim), TOKENS, limits, given)
            for claim, given in zip(claims[2:5], (returned, returned, []), strict=True)
        ]

        assert [turn.reason for turn in turns] == [None, None, WaitReason.CALLS]
        assert await connection.fetchval("SELECT sum(tokens) FROM llm_second") == 2 * 10 + 2 * TOKENS


async def test_a_call_that_is_larger_than_the_limit_waits_until_it_is_alone(
    database: Database, claims: Sequence[Claim], take: Take
) -> None:
    limits = LLMLimits(tokens=TOKENS - 1)

    assert [(await take(claim, limits)).reason for claim in claims[:2]] == [None, WaitReason.TOKENS]
    await minutes_pass(database, 61)
    assert (await take(claims[1], limits)).reason is None


@pytest.mark.parametrize("limits", [LLMLimits(), LLMLimits(calls=8)])
async def test_a_refusal_holds_for_all_until_its_time(
    database: Database, claims: Sequence[Claim], take: Take, limits: LLMLimits
) -> None:
    async with database.connection() as connection:
        await llm_permits.refuse(connection, SERVER, 30)
        await llm_permits.refuse(connection, SERVER, 5)

    for claim in claims:
        turn = await take(claim, limits)
        assert (turn.permit, turn.reason) == (None, WaitReason.REFUSED)
        assert turn.wait_s is not None
        assert 25 < turn.wait_s <= 30

    async with database.connection() as connection:
        await connection.execute("UPDATE llm_server SET refused_until = now()")
    assert (await take(claims[0], limits)).reason is None


async def test_refusals_without_a_time_wait_twice_as_long_each(database: Database) -> None:
    waits = []
    async with database.connection() as connection:
        for _ in range(7):
            for _at_once in range(3):
                await llm_permits.refuse(connection, SERVER, None)
            left = "extract(epoch FROM refused_until - now())::float8"
            waits.append(round(await connection.fetchval(f"SELECT {left} FROM llm_server"), 1))
            await connection.execute("UPDATE llm_server SET refused_until = now()")

    assert waits == pytest.approx([2, 4, 8, 16, 32, 64, 64], abs=0.2)


async def test_the_stage_that_waits_for_longest_is_brought_forward_when_a_call_ends(
    database: Database, claims: Sequence[Claim], take: Take
) -> None:
    turn = await take(claims[0], LLMLimits(calls=1))
    async with database.connection() as connection:
        for claim in (claims[2], claims[1], claims[3]):
            assert await put_off.wait(connection, claim, server=SERVER, reason=WaitReason.CALLS, wait_s=60, refusals=0)
        await connection.execute("UPDATE llm_wait SET since = since - interval '1 h' WHERE job_id = $1",
                                 claims[3].job_id)  # fmt: skip
        await connection.execute("UPDATE job SET sent_at = now() + interval '1 min'")  # as the dispatcher sets it aside

        await release(database, turn)

        assert [row["id"] for row in await connection.fetch("SELECT id FROM job WHERE sent_at IS NULL")] == [
            claims[3].job_id
        ]
        due = "SELECT job_id FROM stage_run WHERE stage = 'extract' AND status = 'ready' AND not_before <= now()"
        assert [row["job_id"] for row in await connection.fetch(due)] == [claims[3].job_id]


async def test_a_stage_that_was_put_off_is_as_it_was_before_its_claim(
    database: Database, claims: Sequence[Claim]
) -> None:
    claim = claims[0]
    async with database.connection() as connection:
        assert await put_off.wait(connection, claim, server=SERVER, reason=WaitReason.REFUSED, wait_s=60, refusals=2)
        assert not await put_off.wait(
            connection, claim, server=SERVER, reason=WaitReason.REFUSED, wait_s=60, refusals=3
        )
        row = await connection.fetchrow(
            "SELECT s.status, s.attempts, s.retries, s.interruptions, j.status AS job, not_before > now() AS waits"
            " FROM stage_run AS s JOIN job AS j ON j.id = s.job_id WHERE s.job_id = $1 AND s.stage = 'extract'",
            claim.job_id,
        )
        assert dict(row) == {
            "status": "ready", "attempts": 0, "retries": 0, "interruptions": 0, "job": "waiting", "waits": True,
        }  # fmt: skip
        assert await connection.fetchval("SELECT count(*) FROM stage_attempt WHERE job_id = $1", claim.job_id) == 0
        assert await stages.claim(connection, claim.job_id, "extract", "worker", 60) is None
        await connection.execute("UPDATE stage_run SET not_before = now()")
        again = await stages.claim(connection, claim.job_id, "extract", "worker", 60)
        assert again is not None
        assert (again.attempt, again.fence) == (1, claim.fence + 1)
        turn = await llm_permits.take(connection, SERVER, caller(again), TOKENS, LLMLimits())
        assert (turn.has_waited, turn.refusals) == (True, 2)
