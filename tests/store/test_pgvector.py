"""A pgvector that is too old is named before anything is migrated."""

import asyncio

import pytest

from services.doctor.servers import Verdict, check_database
from store import migrate
from store.migrate import PgvectorError, PgvectorVersions, check_pgvector
from tests.store.statements import execute

OLDER = "UPDATE pg_extension SET extversion = '0.6.2' WHERE extname = 'vector'"


def test_an_old_version_in_the_database_is_refused_with_the_statement_that_updates_it(database_url: str) -> None:
    asyncio.run(execute(database_url, OLDER))

    with pytest.raises(PgvectorError, match=r"has pgvector 0\.6\.2; .* Run `ALTER EXTENSION vector UPDATE` in it"):
        migrate.upgrade(database_url)


def test_the_doctor_names_it_too(database_url: str) -> None:
    asyncio.run(execute(database_url, OLDER))

    found = {finding.name: finding for finding in check_database({"DATABASE_URL": database_url})}

    assert found["pgvector"].verdict is Verdict.FAIL
    assert found["pgvector"].found == "The database has pgvector 0.6.2"


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
