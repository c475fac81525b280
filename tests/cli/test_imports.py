"""Imports of a data set, and which files commands read."""

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.files import FileRefused, read_file, read_stdin
from cli.participants import read_directory
from schemas.errors import Refused
from stages.records import ProblemsFound
from store.database import Connection
from tests.cli.conftest import Ragq, Stored

ROWS = "start_time\tstop_time\tspeaker\tvalue\n1\t2\tELLIE\thi\n4\t3\tParticipant\thello\n5\t6\tRA\twait\n"


INTERVIEWS = Path(os.environ.get("RAGQ_DATA_DIR", "../shared/data")) / "interviews_primock57"


def write_transcript(folder: Path, participant_id: int, rows: str = ROWS) -> None:
    """An interview in a folder of them."""
    place = folder / f"{participant_id}_P"
    place.mkdir(parents=True)
    (place / f"{participant_id}_TRANSCRIPT.csv").write_text(rows)


def test_an_import_prints_and_stores_variants(ragq: Ragq, stored: Stored, tmp_path: Path) -> None:
    write_transcript(tmp_path / "data/transcripts", 316)
    write_transcript(tmp_path / "data/transcripts", 319)

    done = ragq("import", "participants", "data")
    again = ragq("import", "participants", "data", "--json")

    assert done.stdout.splitlines() == [
        "Imported 2 participants, 0 of them with item labels.",
        "  data set data: 2 new, 0 unchanged, 0 changed, 0 conflicting",
        "  transcript variant raw (2)",
    ]
    assert "Rows of other speakers than Ellie and Participant are kept: participants 316, 319." in " ".join(
        done.stderr.split()
    )
    printed = json.loads(again.stdout)
    assert printed["variants"] == {"raw": 2}

    async def rows(connection: Connection) -> list[tuple[Any, ...]]:
        found = await connection.fetch("SELECT variant, transcript FROM participant ORDER BY id LIMIT 1")
        return [tuple(row) for row in found]

    assert stored(rows) == [("raw", "Ellie: hi\nParticipant: hello\nRA: wait")]


def test_transcripts_with_the_interviewer_are_not_of_the_participant_alone(ragq: Ragq, tmp_path: Path) -> None:
    write_transcript(tmp_path / "data/transcripts_participant_only", 316)

    done = ragq("import", "participants", "data", "--transcripts", "transcripts_participant_only")

    assert isinstance(done.exception, Refused)
    assert "Name the folder of these files by their variant, or `transcripts`." in str(done.exception)


def test_participants_are_the_folders_with_a_number(tmp_path: Path) -> None:
    write_transcript(tmp_path / "transcripts", 1000)
    write_transcript(tmp_path / "transcripts", 303)
    (tmp_path / "transcripts" / "notes_P").mkdir()
    (tmp_path / "transcripts" / "300_P.zip").write_bytes(b"")
    assert [*read_directory(tmp_path).participants] == [303, 1000]


def test_real_interviews_in_the_same_layout_are_read() -> None:
    if not INTERVIEWS.is_dir():
        pytest.skip(f"{INTERVIEWS} is not there; set RAGQ_DATA_DIR")
    transcripts = read_directory(INTERVIEWS).participants
    assert [*transcripts] == [*range(600, 657)]
    assert sum(len(transcript.utterances) for transcript in transcripts.values()) == 6727


def test_the_variant_is_that_of_the_folder(tmp_path: Path) -> None:
    cases = {"transcripts": "raw", "transcripts_participant_only": "participant_only", "interviews": "unknown"}
    for folder, variant in cases.items():
        data = tmp_path / variant
        write_transcript(data / folder, 303)
        assert read_directory(data, transcripts=folder).participants[303].variant == variant


def test_what_is_not_there_or_larger_than_the_largest_size_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGQ_MAX_FILE_MB", "1")
    file = tmp_path / "queries.jsonl"
    file.write_bytes(1_000_000 * b"x")
    assert len(read_file(file)) == 1_000_000

    file.write_bytes((1_000_000 + 1) * b"x")
    with pytest.raises(FileRefused, match=r"queries\.jsonl is larger than 1 MB; split it, or raise RAGQ_MAX_FILE_MB"):
        read_file(file)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((1_000_000 + 1) * b"x")))
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
