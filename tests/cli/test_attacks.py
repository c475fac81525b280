"""Files, folders and homes that commands cannot use or do not read, in sentences instead of tracebacks."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import cli
from schemas.errors import StackError
from tests.acceptance.wardrobe import write_wardrobe
from tests.cli.conftest import Ragq, Stored
from tests.services.marked_run import marked_run


@pytest.mark.parametrize("command", [["status"], ["runs"], ["doctor"], ["up", "--no-flower"], ["down"], ["logs"]])
def test_a_home_that_cannot_be_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    for name in ("DATABASE_URL", "REDIS_URL", "OLLAMA_HOST", "OLLAMA_PORT"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RAGQ_HOME", str(tmp_path / "file/home"))

    done = CliRunner().invoke(cli, command)

    assert isinstance(done.exception, StackError | SystemExit)
    assert str(tmp_path / "file") in f"{done.output} {done.exception}"


def test_a_folder_of_plots_that_is_named_like_a_file_is_refused_and_not_made(
    ragq: Ragq, stored: Stored, tmp_path: Path
) -> None:
    stored(marked_run)

    assert (ragq("plot", "r1", "--output", "p.svg").exit_code, (tmp_path / "p.svg").exists()) == (2, False)


def test_ratings_have_the_name_of_the_original_too_and_files_that_are_not_read_are_named(
    ragq: Ragq, tmp_path: Path
) -> None:
    folder = write_wardrobe(tmp_path / "wardrobe")
    (folder / "ratings.csv").rename(folder / "word_rating_probabilities.csv")
    done = ragq("import", "tags", str(folder))
    assert ("3 rated" in done.stdout, "Not read" in done.stderr) == (True, False)

    (folder / "word_rating_probabilities.csv").rename(folder / "unsafe.csv")
    (folder / "tag_lists.txt").rename(folder / "tag_list.txt")
    (folder / "notes.csv").write_text("who,when\nme,today\n")
    done = ragq("import", "tags", str(folder), "--name", "other")

    said = " ".join(done.stderr.split())
    assert "notes.csv, tag_list.txt (is it tag_lists.txt, lists of tags" in said
    assert "unsafe.csv" in said
    assert "0 rated" in done.stdout
