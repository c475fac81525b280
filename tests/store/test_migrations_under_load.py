"""Migrations of a database at work: nobody waits for them for long, and they wait for nobody in the way of others."""

import ast
import asyncio
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Final

import asyncpg
import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, make_url
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from migrations import concurrent_indexes
from store import migrate
from tests.store.statements import execute

#: The first revisions were made before there were big databases; they are as they are.
OLD: Final = "0023"
NEW: Final = [path for path in sorted(Path(str(files("migrations.versions"))).glob("0*.py")) if path.name[:4] > OLD]
LONGEST_WAIT_S: Final = 1.0

FILL: Final = """
INSERT INTO run (id, kind, identity, profile, settings, settings_hash, request, version)
VALUES (1, 'participant', 'i', 'demo', '{}', 's', '{}', '0');
INSERT INTO job (id, run_id, ordinal, kind, mode, subject, inputs, status)
SELECT n, 1, n, 'participant', 'few_shot', '316', '{}', 'waiting' FROM generate_series(1, 20000) AS n;
INSERT INTO stage_run (job_id, stage, position, status, fence, attempts, interruptions, retries, enq_n)
SELECT job.id, s.stage, s.position, 'ready', 0, 1, 0, 0, 0
FROM job, unnest(ARRAY['extract', 'embed', 'assemble']) WITH ORDINALITY AS s (stage, position);
INSERT INTO stage_attempt (job_id, stage, number, fence, worker_id, outcome, output)
SELECT job_id, stage, 1, 1, 'w', 'succeeded', jsonb_build_object('text', repeat('x', 200)) FROM stage_run;
INSERT INTO worker (id, host, pid, stages, version) VALUES ('w', 'h', 1, '{}', '0');
"""

WORK: Final = """
UPDATE stage_run SET enq_at = now() WHERE job_id = 7;
UPDATE stage_attempt SET ended_at = now() WHERE job_id = 7;
UPDATE job SET status = 'running' WHERE id = 7;
UPDATE worker SET seen_at = now() WHERE id = 'w';
SELECT count(*) FROM llm_call;
"""

# Waits for a lock on a table, of anybody but the migration itself: no other session changes tables.
WAITS: Final = """
SELECT coalesce(max(extract(epoch FROM clock_timestamp() - waitstart)), 0)::float8
FROM pg_locks WHERE NOT granted AND locktype = 'relation' AND mode <> 'AccessExclusiveLock'
"""


async def test_no_statement_waits_long_for_a_migration(database_url: str) -> None:
    await asyncio.to_thread(migrate.downgrade, database_url, OLD)
    await execute(database_url, FILL)
    done = asyncio.Event()
    working = [asyncio.create_task(repeat(database_url, WORK, done)) for _ in range(2)]
    watching = asyncio.create_task(longest(database_url, done))
    # A transaction that reads for seconds is what a migration has to wait for, and others behind it.
    reading = asyncio.create_task(
        execute(database_url, "BEGIN; SELECT count(*) FROM worker, stage_attempt; SELECT pg_sleep(3); COMMIT")
    )
    await asyncio.sleep(0.2)

    await asyncio.to_thread(migrate.upgrade, database_url)

    done.set()
    await asyncio.gather(reading, *working)
    assert await watching < LONGEST_WAIT_S


async def test_a_table_in_use_is_named_with_what_to_do(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await asyncio.to_thread(migrate.downgrade, database_url, OLD)
    monkeypatch.setattr(migrate, "_LOCK_SECONDS", 0.5)
    connection = await asyncpg.connect(database_url)
    async with connection.transaction():
        await connection.execute("SELECT FROM worker")
        with pytest.raises(migrate.TablesBusyError, match="ragq down"):
            await asyncio.to_thread(migrate.upgrade, database_url)
    await connection.close()

    await asyncio.to_thread(migrate.upgrade, database_url)
    await asyncio.to_thread(migrate.check, database_url)


@pytest.mark.parametrize("path", NEW, ids=lambda path: path.stem)
def test_a_migration_changes_no_table_in_a_way_that_locks_it_for_long(path: Path) -> None:
    assert list(slow_operations(ast.parse(path.read_text()))) == []


def test_the_lint_finds_each_slow_operation() -> None:
    source = """
def upgrade():
    op.create_index("i", "job", ["x"])
    op.add_column("job", sa.Column("x", sa.Text(), nullable=False))
    op.alter_column("job", "x", type_=sa.Text())
    op.create_foreign_key("f", "job", "run", ["a"], ["b"])
    op.create_table("mine", sa.Column("x", sa.Text()))
    op.create_index("i", "mine", ["x"])
"""
    assert [line for line, _ in slow_operations(ast.parse(source))] == [3, 4, 5, 6]


def slow_operations(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Operations that read or write every row of an existing table while nobody else may."""
    upgrade = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "upgrade")
    calls = [node for node in ast.walk(upgrade) if isinstance(node, ast.Call)]
    made = {text(call.args[0]) for call in calls if name(call) == "create_table"}
    for call in calls:
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        first = text(call.args[0]) if call.args else ""
        match name(call):
            case "create_index" if is_of_alembic(call) and text(call.args[1]) not in made:
                yield call.lineno, "create_index: use migrations.concurrent_indexes"
            case "alter_column" if "type_" in named or "nullable" in named:
                yield call.lineno, "alter_column rewrites or reads the table"
            case "create_foreign_key" | "create_check_constraint" | "create_unique_constraint":
                if "postgresql_not_valid" not in named:
                    yield call.lineno, "a constraint reads the table"
            case "add_column" if first not in made and is_full(call.args[1]):
                yield call.lineno, "a column that may not be null needs a constant default"


def is_full(column: ast.expr) -> bool:
    """A column without null and without a default."""
    assert isinstance(column, ast.Call)
    named = {keyword.arg: keyword.value for keyword in column.keywords}
    nullable = named.get("nullable")
    return isinstance(nullable, ast.Constant) and nullable.value is False and "server_default" not in named


def name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def is_of_alembic(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == "op"


def text(value: ast.expr) -> str:
    return str(value.value) if isinstance(value, ast.Constant) else ""


async def test_an_index_is_made_while_somebody_writes_and_in_place_of_a_broken_one(database_url: str) -> None:
    await execute(database_url, "CREATE TABLE busy (x integer); INSERT INTO busy VALUES (1), (1)")
    with pytest.raises(asyncpg.UniqueViolationError):
        await execute(database_url, "CREATE UNIQUE INDEX CONCURRENTLY ix_busy ON busy (x)")
    writer = await asyncpg.connect(database_url)
    transaction = writer.transaction()
    await transaction.start()
    await writer.execute("INSERT INTO busy VALUES (2)")

    making = asyncio.create_task(asyncio.to_thread(make_index, database_url))
    await asyncio.sleep(1.0)
    await asyncio.wait_for(execute(database_url, "INSERT INTO busy VALUES (3)"), 1.0)
    await transaction.commit()
    await making

    query = "SELECT indisvalid AND NOT indisunique FROM pg_index WHERE indexrelid = 'ix_busy'::regclass"
    assert await writer.fetchval(query)
    await writer.close()


def make_index(url: str) -> None:
    """As a migration does."""
    engine = create_async_engine(make_url(url).set(drivername="postgresql+asyncpg"), poolclass=NullPool)

    def make(connection: Connection) -> None:
        context = MigrationContext.configure(connection, opts={"transaction_per_migration": True})
        with Operations.context(context), context.begin_transaction(_per_migration=True):
            concurrent_indexes.create_index("ix_busy", "busy", ["x"])

    async def run() -> None:
        async with engine.connect() as connection:
            await connection.run_sync(make)
        await engine.dispose()

    asyncio.run(run())


def test_there_is_one_newest_revision() -> None:
    assert len(ScriptDirectory(str(files("migrations"))).get_heads()) == 1


async def repeat(url: str, statements: str, done: asyncio.Event) -> None:
    connection = await asyncpg.connect(url)
    while not done.is_set():
        await connection.execute(statements)
        await asyncio.sleep(0.02)
    await connection.close()


async def longest(url: str, done: asyncio.Event) -> float:
    connection = await asyncpg.connect(url)
    found = 0.0
    while not done.is_set():
        found = max(found, await connection.fetchval(WAITS))
        await asyncio.sleep(0.05)
    await connection.close()
    return found
