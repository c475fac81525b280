"""`ragq work`: documents shown and edited from the command line, without a worker between."""

import json
from pathlib import Path

import pytest

from store.database import Connection, Database
from tests.cli.conftest import Ragq, Stored, json_of
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
    assert json.loads(done.stdout)["documents"]["jobs"] == 1
    stored(run_stages, database_url)
    return "j1"


def test_replies_of_files_and_of_stdin_are_attempts_and_what_cannot_be_done_is_refused(
    ragq: Ragq, stored: Stored, database_url: str, job: str, tmp_path: Path
) -> None:
    (tmp_path / "reply.txt").write_text(REPAIR)

    assert "\n9 : H3 : Leaves\n" in ragq("work", "prompt", job, "repair").stdout
    assert json_of(ragq, "work", "repair", job, "--reply", "reply.txt") == {"job": job, "stage": "repair", "changed": 3}
    stored(run_stages, database_url)
    assert "## Green leaves\n" in ragq("work", "export", "1").stdout
    assert "\n9 : H2 : Green leaves\n" in ragq("work", "prompt", job, "select").stdout
    assert json_of(ragq, "work", "select", job, "--reply", "-", input="9 : SKIP")["changed"] == 1
    assert json_of(ragq, "work", "select", job, "--set", "9=VECTORIZE") == {"job": job, "stage": "select", "changed": 0}
    for arguments, problem in [
        (("repair", "j1", "--set", "10=H2"), "Line 10 is no heading that stage 'repair' of job j1 decided about"),
        (("repair", "j9", "--set", "9=H2"), "Job j9 does not exist"),
        (("show", "9"), "There is no work 9"),
    ]:
        assert problem in str(ragq("work", *arguments).exception)
    wrong = ragq("work", "repair", "j1", "--set", "9=DANCE")
    assert (wrong.exit_code, "'DANCE' is none of NO_CHANGE" in wrong.stderr) == (2, True)
