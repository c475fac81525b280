"""`ragq work`: documents shown, edited and made again from the command line, without a worker between."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from store.database import Connection, Database
from tests.cli.conftest import Ragq
from tests.services.documents import BOOK, CHAIN, made_library

MODEL = ("--set", "MODEL_EMBEDDING_MODEL=fake", "--set", "EMBEDDING_DIMENSION=8", "--chunk-tokens", "0")
REPAIR = "5 : H1 : On tea\n9 : H2 : Green leaves\n13 : REMOVE : References\n"
Stored = Callable[..., Any]


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


def test_a_work_is_listed_and_shown_with_its_job(ragq: Ragq, job: str) -> None:
    (listed,) = json_of(ragq, "list", "library")
    assert (listed["title"], listed["job"]) == ("On tea", job)
    assert json_of(ragq, "list", "library", "--search", "coffee") == []

    shown = json_of(ragq, "show", str(listed["id"]))
    assert shown == json_of(ragq, "show", job)
    assert (shown["job"], shown["status"], shown["repaired_by"], shown["format"]) == (
        job,
        "succeeded",
        "rules",
        "markdown",
    )
    assert shown["counts"] == {"headings": 3, "changed": 1, "skipped": 1, "disagreements": 0}
    assert list(shown["stages"]) == list(CHAIN)
    words = ragq("work", "show", job).stdout
    assert "repaired      1 by rules\n" in words


def test_the_outline_shows_what_became_of_each_heading(ragq: Ragq, job: str) -> None:
    outline = json_of(ragq, "outline", job)

    leaves = outline["headings"][1]
    assert (leaves["line"], leaves["level"], leaves["action"], leaves["repaired_level"]) == (9, 3, "H2", 2)
    table = ragq("work", "outline", job).stdout
    assert "no: a bibliography" in table
    assert "NO_CHANGE" in table


def test_markdown_is_printed_and_written(ragq: Ragq, job: str, tmp_path: Path) -> None:
    sanitised = BOOK.replace("### Leaves", "## Leaves")

    assert ragq("work", "export", job).stdout == sanitised
    assert ragq("work", "export", "1").stdout == sanitised
    assert json_of(ragq, "export", "1", "--output", "tea2.md") == {"file": "tea2.md"}
    assert (tmp_path / "tea2.md").read_text() == sanitised
    refused = ragq("work", "export", "1", "--output", "nowhere/tea.md")
    assert "name another file" in str(refused.exception)


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


def test_single_headings_are_changed(ragq: Ragq, job: str) -> None:
    done = ragq("work", "repair", job, "--set", "9=H2:Brown leaves: all", "--set", "13=REMOVE")

    assert done.stdout == f"{job} continues after stage 'repair': 2 headings changed.\n"
    leaves, references = json_of(ragq, "outline", job)["headings"][1:]
    assert (leaves["repaired_text"], references["action"]) == ("Brown leaves: all", "REMOVE")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("repair", "j1"), "Give --reply FILE for all headings"),
        (("repair", "j1", "--reply", "a", "--set", "9=H2"), "Give --reply FILE for all headings"),
        (("repair", "j1", "--set", "nine=H2"), "has no line; write it like 12=WORD"),
        (("repair", "j1", "--set", "9=H7"), "'H7' is none of NO_CHANGE, REMOVE"),
        (("select", "j1", "--set", "9=H2"), "'H2' is none of SKIP, VECTORIZE"),
        (("show", "r1"), "'r1' is neither a work nor a job"),
        (("prompt", "j1", "cut"), "'cut' is not one of"),
    ],
)
def test_wrong_usage_is_explained(ragq: Ragq, arguments: tuple[str, ...], problem: str) -> None:
    done = ragq("work", *arguments)

    assert done.exit_code == 2
    assert problem in done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("repair", "j1", "--set", "10=H2"), "Line 10 is no heading that stage 'repair' of job j1 decided about"),
        (("repair", "j9", "--set", "9=H2"), "Job j9 does not exist"),
        (("show", "9"), "There is no work 9"),
        (("cut", "1", "--set", "RAGQ_SELECT_BY=model"), "`ragq work convert j1 --set RAGQ_SELECT_BY=VALUE` computes"),
    ],
)
def test_what_cannot_be_done_is_refused(ragq: Ragq, job: str, arguments: tuple[str, ...], problem: str) -> None:
    assert problem in str(ragq("work", *arguments).exception)


def test_a_document_is_made_again(ragq: Ragq, stored: Stored, database_url: str, job: str) -> None:
    assert json_of(ragq, "convert", "1") == {"job": job, "from": "convert", "run": None}
    stored(run_stages, database_url)
    assert ragq("work", "cut", job).stdout == f"{job} continues with stage 'cut'.\n"
    stored(run_stages, database_url)
    again = json_of(ragq, "cut", "1", "--set", "RAGQ_DOCUMENT_CHUNK_TOKENS=0")
    assert (again["from"], again["run"]) == ("cut", "r2")
    assert json_of(ragq, "show", "j2")["stages"]["select"] == "done"
