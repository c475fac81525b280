"""`ragq import works DIR --prune` and `--dry-run`: what would change is listed, and works without a file go."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from store.corpora.keeping import keep
from store.database import Connection
from tests.cli.conftest import Ragq
from tests.store.kept_works import new_work

PLAIN = ("--no-embed", "--profile", "demo")


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """A folder of three works."""
    folder = tmp_path / "books"
    (folder / "deep").mkdir(parents=True)
    for name in ("tea", "pot", "deep/cup"):
        (folder / f"{name}.md").write_text(f"# The {name}\n\nIt is about a {name}.\n")
    return folder


def paths_of(ragq: Ragq, corpus: str = "default") -> list[str]:
    shown = json.loads(ragq("corpus", "show", corpus, "--json").stdout)
    return sorted(Path(work["source_path"]).name for work in shown["works"])


def ids_of(ragq: Ragq) -> dict[str, int]:
    shown = json.loads(ragq("corpus", "show", "default", "--json").stdout)
    return {Path(work["source_path"]).name: work["id"] for work in shown["works"]}


def planned(ragq: Ragq, *arguments: str) -> Any:
    done = ragq("import", "works", *arguments, "--dry-run", "--json", "--profile", "demo")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_a_dry_run_lists_each_file_and_changes_nothing(ragq: Ragq, books: Path) -> None:
    first = planned(ragq, str(books))
    assert [len(first[word]) for word in ("new", "replaced", "unchanged", "removed")] == [3, 0, 0, 0]
    assert json.loads(ragq("corpus", "list", "--json").stdout) == []

    ragq("import", "works", str(books), *PLAIN)
    (books / "tea.md").write_text("# The tea\n\nAnother text.\n")
    (books / "pot.md").unlink()
    (books / "new.md").write_text("# New\n\nIt is new.\n")
    (books / "copy.md").write_text((books / "deep/cup.md").read_text())
    again = planned(ragq, str(books), "--prune")

    assert {
        word: [Path(path).name for path in again[word]] for word in ("new", "replaced", "unchanged", "refused")
    } == {
        "new": ["new.md"],
        "replaced": ["tea.md"],
        "unchanged": ["cup.md"],
        "refused": ["copy.md"],
    }
    assert [(Path(work["source_path"]).name, work["title"]) for work in again["removed"]] == [("pot.md", "The pot")]
    assert planned(ragq, str(books))["removed"] == []
    words = ragq("import", "works", str(books), "--prune", "--dry-run", "--profile", "demo").stdout
    assert f"removed: {books}/pot.md (work " in words
    assert "1 new, 1 replaced, 1 unchanged, 1 refused, 1 removed. Nothing was changed.\n" in words
    assert paths_of(ragq) == ["cup.md", "pot.md", "tea.md"]


def test_works_whose_files_are_gone_are_named_and_go_once_agreed(ragq: Ragq, books: Path) -> None:
    ragq("import", "works", str(books), *PLAIN)
    (books / "deep/cup.md").unlink()

    ragq("import", "works", str(books), *PLAIN)
    assert paths_of(ragq) == ["cup.md", "pot.md", "tea.md"]
    refused = ragq("import", "works", str(books), "--prune", *PLAIN, input="n\n")
    assert (refused.exit_code, "Remove 1 work whose file is gone?" in refused.stderr) == (1, True)
    assert f"removed: {books}/deep/cup.md (work " in refused.stderr
    assert paths_of(ragq) == ["cup.md", "pot.md", "tea.md"]
    done = ragq("import", "works", str(books), "--prune", *PLAIN, input="y\n")

    assert (done.exit_code, paths_of(ragq)) == (0, ["pot.md", "tea.md"])
    assert "Works without a file: 1 removed, 0 renamed." in done.stderr
    again = ragq("import", "works", str(books), "--prune", "--json", *PLAIN)
    assert (json.loads(again.stdout)["removed"], json.loads(again.stdout)["unchanged"]) == (0, 2)


def test_a_renamed_file_keeps_its_work(ragq: Ragq, books: Path) -> None:
    ragq("import", "works", str(books), *PLAIN)
    before = ids_of(ragq)
    (books / "tea.md").rename(books / "green.md")

    plan = planned(ragq, str(books), "--prune")
    done = ragq("import", "works", str(books), "--prune", *PLAIN)

    assert [(Path(one["from"]).name, Path(one["to"]).name) for one in plan["moved"]] == [("tea.md", "green.md")]
    assert (plan["removed"], done.exit_code) == ([], 0)
    after = ids_of(ragq)
    assert (after["green.md"], "tea.md" in after) == (before["tea.md"], False)


def test_works_from_elsewhere_are_never_removed(
    ragq: Ragq, books: Path, tmp_path: Path, stored: Callable[..., Any]
) -> None:
    others = tmp_path / "books of others"
    others.mkdir()
    (others / "other.md").write_text("# Other\n\nIt is another.\n")
    ragq("import", "works", str(books), str(others), *PLAIN)
    stored(uploaded)
    (others / "other.md").unlink()
    (books / "pot.md").unlink()

    done = ragq("import", "works", str(books), "--prune", "--yes", *PLAIN)

    assert (done.exit_code, paths_of(ragq)) == (0, ["cup.md", "other.md", "tea.md", "uploaded.md"])


async def uploaded(connection: Connection) -> None:
    work = new_work("# Uploaded\n\nBy a form.\n", title="Uploaded", source_path="uploaded.md")
    await keep(connection, await connection.fetchval("SELECT id FROM corpus"), work)


def test_a_folder_that_lost_everything_needs_the_number(ragq: Ragq, books: Path) -> None:
    ragq("import", "works", str(books), *PLAIN)
    for file in books.rglob("*.md"):
        file.unlink()

    assert "holds no file" in str(ragq("import", "works", str(books), *PLAIN).exception)
    agreed = ragq("import", "works", str(books), "--prune", "--yes", *PLAIN)
    wrong = ragq("import", "works", str(books), "--prune", "--removes", "2", *PLAIN)
    assert "If they are to go, add --removes 3." in str(agreed.exception)
    assert "--removes 2 does not fit: 3 works would be removed" in str(wrong.exception)
    assert len(paths_of(ragq)) == 3
    done = ragq("import", "works", str(books), "--prune", "--removes", "3", *PLAIN)

    assert (done.exit_code, paths_of(ragq)) == (0, [])


def test_a_mistyped_folder_removes_nothing(ragq: Ragq, books: Path) -> None:
    ragq("import", "works", str(books), *PLAIN)
    (books / "pot.md").unlink()

    mistyped = ragq("import", "works", f"{books}x", "--prune", "--yes", *PLAIN)

    assert "there is no such file or folder" in str(mistyped.exception)
    assert paths_of(ragq) == ["cup.md", "pot.md", "tea.md"]


def test_a_file_that_can_no_longer_be_read_keeps_its_work(ragq: Ragq, books: Path) -> None:
    ragq("import", "works", str(books), *PLAIN)
    (books / "pot.md").unlink()
    (books / "tea.md").write_bytes(b"\xff\xfe\xff")

    done = ragq("import", "works", str(books), "--prune", "--yes", *PLAIN)

    assert (done.exit_code, "tea.md: byte 0 is not UTF-8" in done.stderr) == (1, True)
    assert paths_of(ragq) == ["cup.md", "tea.md"]


DOCUMENT = """
INSERT INTO works (corpus_id, title, markdown, content_hash, source_path, original_hash)
SELECT c.id, $1::text, $1::text, $1::text, $2::text, encode(sha256($3), 'hex') FROM corpus AS c
"""


def test_documents_of_other_formats_are_compared_by_their_bytes(
    ragq: Ragq, books: Path, stored: Callable[..., Any]
) -> None:
    ragq("import", "works", str(books), *PLAIN)
    for name in ("same", "changed", "gone", "old"):
        (books / f"{name}.txt").write_bytes(f"The {name}".encode())

    async def converted(connection: Connection) -> None:
        for name in ("same", "changed", "gone", "old"):
            await connection.execute(DOCUMENT, name, str(books / f"{name}.txt"), f"The {name}".encode())

    stored(converted)
    (books / "changed.txt").write_bytes(b"The another")
    (books / "gone.txt").unlink()
    (books / "old.txt").rename(books / "renamed.txt")

    plan = planned(ragq, str(books), "--prune")
    done = ragq("import", "works", str(books), "--prune", "--yes", "--json", "--profile", "demo")

    assert [Path(path).name for path in plan["replaced"]] == ["changed.txt"]
    assert [Path(one["to"]).name for one in plan["moved"]] == ["renamed.txt"]
    assert [work["title"] for work in plan["removed"]] == ["gone"]
    documents = json.loads(done.stdout)["documents"]
    # A document that fails to convert keeps the work that it had: its file is there.
    assert (documents["jobs"], documents["unchanged"]) == (1, 2)
    assert {"changed.txt", "renamed.txt", "same.txt"} < set(paths_of(ragq))
