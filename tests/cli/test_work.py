"""`ragq work`: documents shown and exported from the command line."""

import json
from pathlib import Path

import pytest

from services import documents
from store.database import Connection, Database
from tests.cli.conftest import Ragq, Stored
from tests.services.documents import BOOK, made_library

MODEL = ("--set", "MODEL_EMBEDDING_MODEL=fake", "--set", "EMBEDDING_DIMENSION=8", "--chunk-tokens", "0")
REPAIR = "5 : H1 : On tea\n9 : H2 : Green leaves\n13 : REMOVE : References\n"


async def run_stages(_: Connection, database_url: str) -> None:
    database = Database(database_url, pool_size=4)
    try:
        async with made_library(database) as library:
            await library.run(await library.value("SELECT id FROM job WHERE kind = 'work'"))
    finally:
        await database.close()


@pytest.fixture
def job(ragq: Ragq, stored: Stored, database_url: str, tmp_path: Path) -> str:
    """The job of an imported document, like `j1`."""
    (tmp_path / "tea.md").write_text(BOOK)
    done = ragq("import", "works", "tea.md", "--corpus", "library", "--stages", "--json", *MODEL)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["documents"] == 1
    stored(run_stages, database_url)
    return "j1"


def test_an_edited_work_is_shown_and_exported(ragq: Ragq, stored: Stored, database_url: str, job: str) -> None:
    async def edit(connection: Connection) -> None:
        await documents.edit(connection, int(job[1:]), documents.REPAIR, REPAIR)

    stored(edit)
    stored(run_stages, database_url)

    assert "## Green leaves\n" in ragq("work", "export", "1").stdout
    assert "Green leaves (was Leaves)" in ragq("work", "show", job).stdout
    assert "There is no work 9" in str(ragq("work", "show", "9").exception)
