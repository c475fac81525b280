import os
from pathlib import Path

import pytest

from cli.participants import read_directory
from schemas.values.participants import TranscriptVariant

INTERVIEWS = Path(os.environ.get("RAGQ_DATA_DIR", "../shared/data")) / "interviews_primock57"
ROWS = "start_time\tstop_time\tspeaker\tvalue\n1\t2\tEllie\thi\n"


def write_transcript(folder: Path, participant_id: int) -> None:
    (folder / f"{participant_id}_P").mkdir(parents=True)
    (folder / f"{participant_id}_P" / f"{participant_id}_TRANSCRIPT.csv").write_text(ROWS, "utf-8")


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


@pytest.mark.parametrize(
    ("folder", "manifest", "named", "variant"),
    [
        ("transcripts", None, None, "raw"),
        ("transcripts_participant_only", None, None, "participant_only"),
        ("interviews", None, None, "unknown"),
        ("interviews", '{"variant": "participant_qa", "stats": []}', None, "participant_qa"),
        ("transcripts_participant_only", '{"variant": "both_speakers_clean"}', None, "both_speakers_clean"),
        ("interviews", '{"variant": "participant_qa"}', TranscriptVariant.RAW, "raw"),
    ],
)
def test_the_variant_is_the_one_named_else_that_of_the_manifest_else_that_of_the_folder(
    tmp_path: Path, folder: str, manifest: str | None, named: TranscriptVariant | None, variant: str
) -> None:
    write_transcript(tmp_path / folder, 303)
    if manifest is not None:
        (tmp_path / folder / "preprocess_manifest.json").write_text(manifest)
    assert read_directory(tmp_path, transcripts=folder, variant=named).participants[303].variant == variant
