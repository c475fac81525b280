"""Imports of a data set."""

import json
from pathlib import Path
from typing import Any

from schemas.errors import Refused
from store.database import Connection
from tests.cli.conftest import Ragq, Stored

ROWS = "start_time\tstop_time\tspeaker\tvalue\n1\t2\tELLIE\thi\n4\t3\tParticipant\thello\n5\t6\tRA\twait\n"


def write(folder: Path, participant_id: int) -> None:
    place = folder / f"{participant_id}_P"
    place.mkdir(parents=True)
    (place / f"{participant_id}_TRANSCRIPT.csv").write_text(ROWS)


def test_an_import_prints_and_stores_variants_and_irregular_rows(ragq: Ragq, stored: Stored, tmp_path: Path) -> None:
    write(tmp_path / "data/transcripts", 316)
    write(tmp_path / "data/transcripts", 319)

    done = ragq("import", "participants", "data")
    again = ragq("import", "participants", "data", "--json")

    assert done.stdout.splitlines() == [
        "Imported 2 participants, 0 of them with item labels.",
        "  data set data: 2 new, 0 unchanged, 0 changed, 0 conflicting",
        "  transcript variant raw (2)",
        "  participant 316: rows kept as they are: 1 with stop before start, 1 with unknown speaker",
        "  participant 319: rows kept as they are: 1 with stop before start, 1 with unknown speaker",
    ]
    irregular = {"stop_before_start": 1, "unknown_speaker": 1}
    printed = json.loads(again.stdout)
    assert (printed["variants"], printed["stored_variants"]) == ({"raw": 2}, {"raw": 2})
    assert printed["irregular_rows"] == {"316": irregular, "319": irregular}

    async def rows(connection: Connection) -> list[tuple[Any, ...]]:
        found = await connection.fetch(
            "SELECT variant, irregular_rows, transcript FROM participant ORDER BY id LIMIT 1"
        )
        return [tuple(row) for row in found]

    assert stored(rows) == [("raw", irregular, "Ellie: hi\nParticipant: hello\nRA: wait")]


def test_transcripts_with_the_interviewer_are_not_of_the_participant_alone(ragq: Ragq, tmp_path: Path) -> None:
    write(tmp_path / "data/transcripts_participant_only", 316)

    done = ragq("import", "participants", "data", "--transcripts", "transcripts_participant_only")

    assert isinstance(done.exception, Refused)
    assert "Name the variant of these files with --transcripts-variant." in str(done.exception)
    named = ("--transcripts", "transcripts_participant_only", "--transcripts-variant", "both_speakers_clean")
    assert "  transcript variant both_speakers_clean (1)" in ragq("import", "participants", "data", *named).stdout
