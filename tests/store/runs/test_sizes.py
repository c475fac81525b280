"""Which tables and kinds of runs are large."""

from store.database import Database
from store.runs import sizes
from tests.api.pages.example_runs import participant_run


async def test_tables_and_kinds_are_listed_the_largest_first(database: Database) -> None:
    async with database.connection() as connection:
        await participant_run(connection)
        found = await sizes.sizes(connection)

    tables = {size.name: size.bytes for size in found.tables}
    assert [size.bytes for size in found.tables] == sorted(tables.values(), reverse=True)
    assert {"stage_attempt", "stage_vector", "llm_call"} <= set(tables)
    assert [(size.name, size.bytes > 1000) for size in found.kinds][:1] == [("participant", True)]


async def test_a_large_table_is_sampled(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute(
            "INSERT INTO run (id, kind, identity, profile, settings, settings_hash, request, version)"
            " VALUES (1, 'tags', 'i', 'demo', '{}', 's', '{}', '0')"
        )
        await connection.execute(
            "INSERT INTO job (id, run_id, ordinal, kind, mode, subject, inputs, status)"
            " VALUES (1, 1, 0, 'tags', 'candidates', '1', '{}', 'waiting')"
        )
        await connection.execute(
            "INSERT INTO stage_attempt (job_id, stage, number, fence, worker_id, outcome)"
            " SELECT 1, 'embed', n, 1, 'w', 'failed' FROM generate_series(1, 60000) AS n"
        )
        exact = await connection.fetchval("SELECT sum(pg_column_size(a.*)) FROM stage_attempt AS a")
        await connection.execute("ANALYZE stage_attempt")
        (kind,) = (await sizes.sizes(connection)).kinds

    assert 0.7 * exact < kind.bytes < 1.3 * exact
