"""`ragq work`: documents shown and edited from the command line, without a worker between."""

import json
from pathlib import Path
from typing import Any

import pytest

from store.database import Connection, Database
from tests.cli.conftest import Ragq, Stored
from tests.services.documents import BOOK, made_library

MODEL = ("--set", "MODEL_EMBEDDING_MODEL=fake", "--set", "EMBEDDING_DIMENSION=8", "--chunk-tokens", "0")
REPAIR = "5 : H1 : On tea\n9 : H2 : Green leaves\n13 : REMOVE : References\n"


async def run_stages(_: Connection, database_url: str) -> None:
    """Run what is due of the only job."""
    database = Database(database_url, pool_size=4)
    try:
        async with made_library(database, database_url) as library:
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


def json_of(ragq: Ragq, *arguments: str, **named: Any) -> Any:
    done = ragq("work", *arguments, "--json", **named)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("by_stdin", [False, True])
def test_a_pasted_reply_is_an_attempt(
    ragq: Ragq, stored: Stored, database_url: str, job: str, tmp_path: Path, by_stdin: bool
) -> None:
    assert "\n9 : H3 : Leaves\n" in ragq("work", "prompt", job, "repair").stdout
    if by_stdin:
        edited = json_of(ragq, "repair", job, "--reply", "-", input=REPAIR)
    else:
        (tmp_path / "reply.txt").write_text(REPAIR)
        edited = json_of(ragq, "repair", job, "--reply", "reply.txt")
    assert edited == {"job": job, "stage": "repair", "changed": 3}
    stored(run_stages, database_url)

    assert "## Green leaves\n" in ragq("work", "export", "1").stdout
    assert "\n9 : H2 : Green leaves\n" in ragq("work", "prompt", job, "select").stdout
    assert json_of(ragq, "select", job, "--set", "9=SKIP") == {"job": job, "stage": "select", "changed": 1}


def test_what_cannot_be_done_is_refused(ragq: Ragq, job: str) -> None:
    for arguments, problem in [
        (("repair", "j1", "--set", "10=H2"), "Line 10 is no heading that stage 'repair' of job j1 decided about"),
        (("repair", "j9", "--set", "9=H2"), "Job j9 does not exist"),
        (("show", "9"), "There is no work 9"),
    ]:
        assert problem in str(ragq("work", *arguments).exception)
