"""The digest of what was read."""

from store.database import Connection, Database
from store.digested import DigestedConnection

NUMBERS = "SELECT n, jsonb_build_object('half', n / 2.0) AS json FROM generate_series(1, $1::integer) AS n"


async def digest_of(connection: Connection, statement: str, *args: object) -> bytes:
    digested = DigestedConnection(connection)
    await digested.fetch(statement, *args)
    return digested.digest()


async def test_the_same_rows_have_the_same_digest_and_others_another(database: Database) -> None:
    async with database.connection() as connection:
        three = await digest_of(connection, NUMBERS, 3)

        assert three == await digest_of(connection, NUMBERS, 3)
        assert three != await digest_of(connection, NUMBERS, 4)
        assert three != await digest_of(connection, NUMBERS.replace("half", "third"), 3)


async def test_every_way_to_read_gives_the_rows_and_counts(database: Database) -> None:
    async with database.connection() as connection:
        digested = DigestedConnection(connection)
        digests = [digested.digest()]
        async with digested.transaction(isolation="repeatable_read", readonly=True):
            assert await digested.fetchval("SELECT 1") == 1
            digests.append(digested.digest())
            assert (await digested.fetchrow("SELECT 2 AS two"))["two"] == 2
            digests.append(digested.digest())
            assert [row["n"] for row in await digested.fetch(NUMBERS, 2)] == [1, 2]
            digests.append(digested.digest())

    assert len(set(digests)) == 4


def test_what_would_not_be_in_the_digest_cannot_be_done() -> None:
    assert {name for name in dir(DigestedConnection) if not name.startswith("_")} == {
        "digest",
        "fetch",
        "fetchrow",
        "fetchval",
        "transaction",
    }
