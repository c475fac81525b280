"""The limits of a run: counted exactly under concurrency, and what happens when one is reached."""

import asyncio

import pytest

from schemas.values.runs import RunLimits, RunLimitState
from store.database import Connection, Database
from store.runs import backlog, jobs, overviews, stages
from tests.store.conftest import StoreRun
from tests.store.scored import BROKEN, claimed


async def end(connection: Connection, job_id: int, *, well: bool) -> None:
    claim = await claimed(connection, job_id)
    if well:
        await stages.commit(connection, claim, inputs={}, output={})
    else:
        await stages.fail(connection, claim, BROKEN, inputs={})
        await backlog.stop_failing(connection, claim.run_id)


async def states(connection: Connection, run_id: int) -> dict[str, int]:
    found = await overviews.get(connection, run_id)
    return {str(state): count for state, count in found.states.items()}


async def test_limits_that_are_not_given_again_stay(connection: Connection, store_run: StoreRun) -> None:
    run_id = (await store_run()).run_id
    await backlog.keep(connection, run_id, RunLimits())
    assert await backlog.find(connection, run_id) is None
    assert await backlog.stop_failing(connection, run_id) == []

    await backlog.keep(connection, run_id, RunLimits(max_failures="10%", max_llm_calls=5))
    await backlog.spend_call(connection, run_id)
    await backlog.keep(connection, run_id, RunLimits(max_llm_calls=9, max_tokens=1000))

    assert await backlog.find(connection, run_id) == RunLimitState(
        max_failures="10%", max_llm_calls=9, max_tokens=1000, llm_calls=1
    )


async def test_no_call_is_sent_beyond_a_limit_however_many_ask_at_once(database: Database, store_run: StoreRun) -> None:
    of_calls, of_tokens = (await store_run()).run_id, (await store_run()).run_id
    await database.once(backlog.keep, of_calls, RunLimits(max_llm_calls=7))
    await database.once(backlog.keep, of_tokens, RunLimits(max_tokens=100))

    spent = await asyncio.gather(*(database.once(backlog.spend_call, of_calls) for _ in range(40)))

    assert spent.count(None) == 7
    for tokens in (99, 1):
        assert await database.once(backlog.spend_call, of_tokens) is None
        await database.once(backlog.count, of_tokens, tokens=tokens)
    assert await database.once(backlog.spend_call, of_tokens) == RunLimitState(max_tokens=100, llm_calls=2, tokens=100)


async def test_a_run_stops_at_failures_and_counts_anew_if_resumed(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run(*map(str, range(301, 309)), stages=("extract",))
    job_ids = iter(stored.job_ids)
    await backlog.keep(connection, stored.run_id, RunLimits(max_failures="2"))
    await end(connection, next(job_ids), well=True)
    await end(connection, next(job_ids), well=False)
    assert await states(connection, stored.run_id) == {"succeeded": 1, "failed": 1, "waiting": 6}
    await end(connection, next(job_ids), well=False)
    assert await states(connection, stored.run_id) == {"succeeded": 1, "failed": 2, "paused": 5}
    note = await connection.fetchval("SELECT note FROM job WHERE status = 'paused' LIMIT 1")
    assert note.startswith("2 of 3 finished jobs failed, and the limit is 2.")

    await jobs.resume(connection, run_id=stored.run_id)
    await backlog.forgive_failures(connection, stored.run_id)
    await end(connection, next(job_ids), well=False)
    assert await states(connection, stored.run_id) == {"succeeded": 1, "failed": 3, "waiting": 4}
    await end(connection, next(job_ids), well=False)
    assert await states(connection, stored.run_id) == {"succeeded": 1, "failed": 4, "paused": 3}


@pytest.mark.parametrize(("percent", "stops_at"), [("10%", 21), ("50%", 36), ("100%", None)])
async def test_a_run_stops_at_its_percentage_of_failures_after_some_have_finished(
    connection: Connection, store_run: StoreRun, percent: str, stops_at: int | None
) -> None:
    stored = await store_run(*map(str, range(100, 150)), stages=("extract",))
    stopped = None
    await backlog.keep(connection, stored.run_id, RunLimits(max_failures=percent))
    for number, job_id in enumerate(stored.job_ids, start=1):
        await end(connection, job_id, well=number > 2 and number <= 20)
        if "paused" in await states(connection, stored.run_id):
            stopped = number
            break

    assert stopped == stops_at


async def test_poisoned_jobs_are_failures(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run("316", "319", stages=("extract",))
    await backlog.keep(connection, stored.run_id, RunLimits(max_failures="1"))
    await stages.claim(connection, stored.job_ids[0], "extract", "worker", 0)
    await stages.expire(connection, max_interruptions=1)

    assert await states(connection, stored.run_id) == {"poisoned": 1, "paused": 1}
