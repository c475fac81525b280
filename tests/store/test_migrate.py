"""The migrations make the tables, can be reverted, and keep stored rows."""

import asyncio
from pathlib import Path
from typing import Final

import asyncpg

from store import migrate
from store.database import Database
from store.runs import attempts
from store.runs.attempts import Audit
from store.runs.run_view import run_view
from store.views.lineage import job_trace

IMPORTED: Final = """
INSERT INTO reference_index
    (name, identity, split, split_ids_hash, backend, model, dimension, chunk_size, chunk_step, min_evidence_chars)
VALUES ('small', 'a', 'paper-train', 'i', 'huggingface', 'tiny', 2, 8, 2, 8)
"""

#: What the revision before wrote, and hashed.
CARRIED: Final = {"by": "by hand", "from": {"job": 1, "attempt": 1}}


def test_tables_and_migrations_agree(database_url: str) -> None:
    migrate.check(database_url)


def test_every_migration_can_be_reverted_and_applied_again(database_url: str) -> None:
    migrate.downgrade(database_url, "base")
    migrate.upgrade(database_url)
    migrate.check(database_url)


def test_the_downgrade_runs_although_indexes_from_files_are_stored(database_url: str) -> None:
    asyncio.run(execute(database_url, IMPORTED))

    migrate.downgrade(database_url, "0001")
    migrate.upgrade(database_url)
    migrate.check(database_url)


async def test_runs_of_the_revision_before_are_readable_and_audit_clean(database_url: str) -> None:
    await asyncio.to_thread(migrate.downgrade, database_url, "0010")
    await execute(database_url, (Path(__file__).parent / "rows_of_revision_0010.sql").read_text())

    await asyncio.to_thread(migrate.upgrade, database_url)

    database = Database(database_url, pool_size=1)
    async with database.connection() as connection:
        assert [await attempts.audit(connection, run_id) for run_id in (1, 2)] == [Audit(6, []), Audit(2, [])]
        view = await run_view(connection, 1)
        trace = await job_trace(connection, 3)
    await database.close()
    assert view is not None
    assert [(job.status, job.kept) for job in view.jobs] == [("succeeded", {"Sleep": 1}), ("waiting", {})]
    assert trace is not None
    assert [(tried.stage, tried.worker_id, tried.inputs, tried.output, tried.vectors) for tried in trace.attempts] == [
        ("extract", "manual", CARRIED, {"quotes": {"Sleep": ["I wake at four."]}}, 0),
        ("embed", "manual", CARRIED, {"model_digest": "d1"}, 2),
    ]


async def execute(database_url: str, statements: str) -> None:
    """Run statements on a connection of their own."""
    connection = await asyncpg.connect(database_url)
    await connection.execute(statements)
    await connection.close()
