"""Which files commands read."""

import io
import os
import sys
from pathlib import Path

import pytest

from cli.files import FileRefused, read_file, read_stdin
from cli.participants import read_directory
from stages.files.records import ProblemsFound

LARGEST = 1_000_000


@pytest.fixture(autouse=True)
def one_megabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGQ_MAX_FILE_MB", "1")


def test_what_is_not_there_or_larger_than_the_largest_size_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_bytes(LARGEST * b"x")
    assert len(read_file(file)) == LARGEST

    file.write_bytes((LARGEST + 1) * b"x")
    with pytest.raises(FileRefused, match=r"queries\.jsonl is larger than 1 MB; split it, or raise RAGQ_MAX_FILE_MB"):
        read_file(file)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((LARGEST + 1) * b"x")))
    with pytest.raises(FileRefused, match="<stdin> is larger than 1 MB"):
        read_stdin()
    with pytest.raises(FileRefused, match=r"reply\.txt cannot be read \(No such file or directory\)"):
        read_file(tmp_path / "reply.txt")


def test_a_pipe_without_a_writer_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    interview = tmp_path / "transcripts" / "300_P"
    interview.mkdir(parents=True)
    os.mkfifo(interview / "300_TRANSCRIPT.csv")

    with pytest.raises(ProblemsFound, match=r"300_TRANSCRIPT\.csv: is not a regular file; copy its content into one"):
        read_directory(tmp_path)
