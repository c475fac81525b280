"""Migrations, the newest revision, a pgvector that is too old, and tables that two subjects write."""

import asyncio
import re
from collections import defaultdict
from importlib.resources import files
from pathlib import Path
from typing import Final

import pytest
from alembic.script import ScriptDirectory

from schemas.tables import METADATA
from services.doctor.servers import Verdict, check_database
from store import migrate
from store.database import Connection
from store.migrate import PgvectorError, PgvectorVersions, check_pgvector, is_newest_revision
from tests.store.statements import execute


def test_tables_and_migrations_agree_and_there_is_one_newest_revision(database_url: str) -> None:
    migrate.check(database_url)
    assert len(ScriptDirectory(str(files("migrations"))).get_heads()) == 1


async def test_a_migrated_database_has_the_newest_revision_and_one_behind_or_empty_not(connection: Connection) -> None:
    assert await is_newest_revision(connection)
    await connection.execute("UPDATE alembic_version SET version_num = '0000'")
    assert not await is_newest_revision(connection)
    await connection.execute("DROP TABLE alembic_version")
    assert not await is_newest_revision(connection)


def test_an_old_version_in_the_database_is_refused_with_the_statement_that_updates_it(database_url: str) -> None:
    asyncio.run(execute(database_url, "UPDATE pg_extension SET extversion = '0.6.2' WHERE extname = 'vector'"))

    with pytest.raises(PgvectorError, match=r"has pgvector 0\.6\.2; .* Run `ALTER EXTENSION vector UPDATE` in it"):
        migrate.upgrade(database_url)
    found = {finding.name: finding for finding in check_database({"DATABASE_URL": database_url})}
    assert (found["pgvector"].verdict, found["pgvector"].found) == (Verdict.FAIL, "The database has pgvector 0.6.2")


@pytest.mark.parametrize(
    ("versions", "problem"),
    [
        (PgvectorVersions(None, None), "The server has no pgvector; ragq needs"),
        (PgvectorVersions("0.7.4", None), r"The server has pgvector 0\.7\.4; ragq needs"),
    ],
)
def test_a_server_that_cannot_install_it_is_refused(versions: PgvectorVersions, problem: str) -> None:
    with pytest.raises(PgvectorError, match=f"{problem} .* and run `ragq db migrate` again"):
        check_pgvector(versions)


STORE: Final = Path(__file__).parents[2] / "store"
WRITES: Final = re.compile(
    r'(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)|insert\(\s*connection,\s*"(\w+)"|copy_records_to_table\(\s*"(\w+)"'
)

#: Whose files write a table of another subject, and why.
SHARED: Final = {
    "job": {"runs", "questions", "references"},  # What a question is asked with; a publication that continues.
    "run": {"runs", "references"},  # An index that may be partial.
    "stage_run": {"runs", "references"},  # A publication that continues.
    "reference_index": {"references", "runs"},  # Published indexes outlive their run.
    "results": {"questions", "runs"},  # Answers to a question that continued outlive their run.
    "prompt_templates": {"questions", "migrate"},  # The first version of each.
}


def test_no_table_is_written_by_two_subjects() -> None:
    writers: dict[str, set[str]] = defaultdict(set)
    for path in STORE.rglob("*.py"):
        subject = path.relative_to(STORE).with_suffix("").parts[0]
        for found in WRITES.finditer(path.read_text("utf-8")):
            writers[next(filter(None, found.groups()))].add(subject)

    assert {table: by for table in METADATA.tables if len(by := writers[table]) > 1} == SHARED
