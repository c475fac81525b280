"""The tables and the migrations say the same."""

import asyncio

import asyncpg

from store import migrate


def test_tables_and_migrations_agree(database_url: str) -> None:
    migrate.check(database_url)


def test_every_migration_can_be_taken_back_and_applied_again(database_url: str) -> None:
    migrate.downgrade(database_url, "base")
    migrate.upgrade(database_url)
    migrate.check(database_url)


def test_indexes_from_files_do_not_stand_in_the_way_of_the_tables_before_them(database_url: str) -> None:
    async def import_one() -> None:
        connection = await asyncpg.connect(database_url)
        await connection.execute(
            "INSERT INTO reference_index (name, split, split_ids_hash, backend, model, dimension, chunk_size, "
            "chunk_step, min_evidence_chars) VALUES ('small', 'paper-train', 'i', 'huggingface', 'tiny', 2, 8, 2, 8)"
        )
        await connection.close()

    asyncio.run(import_one())

    migrate.downgrade(database_url, "0001")
    migrate.upgrade(database_url)
    migrate.check(database_url)
