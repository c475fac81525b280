"""What the statements of the dispatcher and the reaper read does not grow with the backlog."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from store.database import Connection
from store.references import index_runs
from store.runs import backlog, jobs, runs, stages

SMALL, LARGE = 10_000, 100_000
IN_FLIGHT = 200

RUNS = """
INSERT INTO run (kind, identity, profile, settings, settings_hash, request, version)
SELECT 'tags', 'i' || n, 'demo', '{}', 's', '{}', '0' FROM generate_series(1, 3) AS n
"""
PARTIAL = """
INSERT INTO run (kind, identity, profile, settings, settings_hash, request, version)
VALUES ('index', 'i', 'demo', '{}', 's', '{"allow_partial": true}', '0')
"""
BUILT = """
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
    "publications": (index_runs.PUBLISH_AGAIN, (None,)),
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
    await connection.execute("ALTER TABLE job SET (autovacuum_enabled = false)")
    await connection.execute("ALTER TABLE stage_run SET (autovacuum_enabled = false)")
    await connection.execute(RUNS)
    await connection.execute(PARTIAL)
    await connection.execute(BUILT)
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
