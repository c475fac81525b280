"""The limits of a run, and statements that read as much of a large backlog as of a small one."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import pytest

from schemas.values.runs import RunLimits, RunLimitState
from store.database import Connection, Database
from store.references import references
from store.runs import backlog, jobs, overviews, runs, stages
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


async def test_a_run_stops_at_failures_and_goes_on_without_those_that_are_retried(
    connection: Connection, store_run: StoreRun
) -> None:
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

    await jobs.retry(connection, run_id=stored.run_id)
    await jobs.resume(connection, run_id=stored.run_id)
    await end(connection, next(job_ids), well=False)
    assert await states(connection, stored.run_id) == {"succeeded": 1, "failed": 1, "waiting": 6}
    await end(connection, next(job_ids), well=False)
    assert await states(connection, stored.run_id) == {"succeeded": 1, "failed": 2, "paused": 5}


async def test_a_run_stops_at_its_percentage_of_failures_after_some_have_finished(
    connection: Connection, store_run: StoreRun
) -> None:
    for percent, stops_at in (("10%", 21), ("50%", 36), ("100%", None)):
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


SMALL, LARGE = 10_000, 100_000
IN_FLIGHT = 200

WORLD = """
INSERT INTO run (kind, identity, profile, settings, settings_hash, request, version)
SELECT 'tags', 'i' || n, 'demo', '{}', 's', '{}', '0' FROM generate_series(1, 3) AS n
;
INSERT INTO run (kind, identity, profile, settings, settings_hash, request, version)
VALUES ('index', 'i', 'demo', '{}', 's', '{"allow_partial": true}', '0')
;
INSERT INTO reference_index
    (name, identity, data_set, split, split_ids_hash, backend, model, dimension, chunk_size, chunk_step,
     min_evidence_chars, run_id)
VALUES ('small', 'a', 'data', 'paper-train', 'i', 'huggingface', 'tiny', 2, 8, 2, 8, 4)
"""
JOBS = """
INSERT INTO job (run_id, ordinal, kind, mode, subject, inputs, status)
SELECT 1 + n % 3, n, 'tags', 'candidates', n::text, '{}', 'waiting' FROM generate_series($1::int, $2::int - 1) AS n
"""
STAGES = """
INSERT INTO stage_run (job_id, stage, position, status, fence, attempts, interruptions, retries, enq_n, enq_at)
SELECT j.id, s.stage, s.position, CASE WHEN s.position = 0 THEN 'ready' ELSE 'waiting' END, 0, 0, 0, 0, 0,
       CASE WHEN s.position = 0 THEN now() END
FROM job AS j, (VALUES ('embed', 0), ('retrieve', 1)) AS s (stage, position)
WHERE NOT EXISTS (SELECT FROM stage_run AS o WHERE o.job_id = j.id)
"""
END, RETRY = "UPDATE job SET status = 'failed'", "UPDATE job SET status = 'waiting'"
SEND = "UPDATE job SET sent_at = now() - interval '1 minute' WHERE id IN (SELECT id FROM job ORDER BY id LIMIT $1)"

#: Statements of a dispatcher that has work to do, and of a sweep, with what they are given.
STATEMENTS: dict[str, tuple[str, Sequence[Any]]] = {
    "flows": (backlog.FLOWS, ()),
    "oldest": (backlog.OLDEST, ([1, 2, 3], [False] * 3, [0] * 3, [50] * 3)),
    "chains": (jobs.NEXT_STAGES, (list(range(IN_FLIGHT + 1, IN_FLIGHT + 101)),)),
    "sent": (backlog.SENT, (list(range(IN_FLIGHT + 1, IN_FLIGHT + 51)), [None] * 50)),
    "unclaimed": (backlog.UNCLAIMED, ()),
    "set aside": (backlog.SET_ASIDE, ()),
    "taken back": (backlog.LOST, (list(range(1, 21)),)),
    "expired": (stages.EXPIRED, (None,)),
    "publications": (references.DUE, (None,)),
    "leases": (runs.LEASES, (6.0,)),
    "messages": (runs.MESSAGES, ()),
    "retries": (runs.RETRIES, (60.0,)),
}


async def buffers(connection: Connection, statement: str, arguments: Sequence[Any]) -> int:
    """Pages that a statement touches, of which nothing is kept."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        plan = await connection.fetch(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) {statement}", *arguments)
    finally:
        await transaction.rollback()
    # The first line with buffers is the whole statement's.
    touched = next((row[0] for row in plan if "Buffers:" in row[0]), "")
    return sum(map(int, re.findall(r"(?:hit|read)=(\d+)", touched)))


async def grow(connection: Connection, since: int, to: int) -> None:
    await connection.execute(JOBS, since, to)
    await connection.execute(STAGES)


@pytest.mark.parametrize("analyzed", ["all", "before it grew", "while it was empty"])
async def test_ten_times_the_backlog_is_read_with_as_many_pages(connection: Connection, analyzed: str) -> None:
    """Also right after a large submission or retry, when Postgres knows nothing of the new backlog yet."""
    touched: dict[int, dict[str, int]] = {}
    for table in ("job", "stage_run"):
        await connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")
    await connection.execute(WORLD)
    await grow(connection, 0, SMALL)
    await connection.execute(SEND, IN_FLIGHT)
    await connection.execute("VACUUM ANALYZE")
    for size in (SMALL, LARGE):
        if size == LARGE:
            await grow(connection, SMALL, LARGE)
            if analyzed == "while it was empty":
                await connection.execute(END)
            if analyzed != "before it grew":
                await connection.execute("VACUUM ANALYZE")
            if analyzed == "while it was empty":
                await connection.execute(RETRY)
        await connection.execute(backlog.BY_INDEX)
        for name, (statement, arguments) in STATEMENTS.items():
            await buffers(connection, statement, arguments)
            touched.setdefault(size, {})[name] = await buffers(connection, statement, arguments)

    # A tree may have one level more, and rows that were not vacuumed are looked up: those that are returned.
    grown = {name: (touched[SMALL][name], touched[LARGE][name]) for name in STATEMENTS}
    assert {name: pages for name, pages in grown.items() if pages[1] > 2 * pages[0] + 50} == {}
