"""Which tables are large."""

from store.database import Connection
from store.runs import runs
from tests.api.pages.example_runs import participant_run


async def test_tables_are_listed_the_largest_first(connection: Connection) -> None:
    await participant_run(connection)
    found = await runs.sizes(connection)

    tables = {size.name: size.bytes for size in found}
    assert [size.bytes for size in found] == sorted(tables.values(), reverse=True)
    assert {"stage_attempt", "stage_vector", "llm_call"} <= set(tables)
