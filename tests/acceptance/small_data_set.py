"""A few synthetic interviews in the DAIC-WOZ layout, cut short, so that a whole run takes a second or two."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from demo.data_set import data_set_files
from schemas.values.participants import PHQ8Item

TRAIN = (304, 313, 321)
TEST = (316, 319, 330)
LINES = 60
"""Rows of a transcript that are kept."""
LINES_OF_MANY = 9
"""The same, where all participants are embedded, which takes minutes with whole interviews."""

_SPLITS = {
    "train_split_Depression_AVEC2017.csv": (*TRAIN, *TEST),
    "paper_splits/paper_split_train.csv": TRAIN,
    "paper_splits/paper_split_test.csv": TEST,
}


@cache
def small_files() -> Mapping[str, bytes]:
    """Every file by its name relative to the data set: three participants to train on, three to test."""
    files = data_set_files()
    rows = {
        row.split(b",", 1)[0].decode(): row
        for name in ("train_split_Depression_AVEC2017.csv", "dev_split_Depression_AVEC2017.csv")
        for row in files[name].splitlines(keepends=True)
    }
    return {
        **{name: b"".join(rows[str(key)] for key in ("Participant_ID", *ids)) for name, ids in _SPLITS.items()},
        **{name: _head(files[name]) for name in map(transcript_file, (*TRAIN, *TEST))},
    }


def plain_files() -> dict[str, bytes]:
    """Transcripts, cut short, and label files of all 142 participants."""
    return {
        name: b"".join(data.splitlines(keepends=True)[:LINES_OF_MANY]) if name.startswith("transcripts/") else data
        for name, data in data_set_files().items()
    }


def write_files(directory: Path, files: Mapping[str, bytes]) -> Path:
    """Write files under a folder, and return the folder."""
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return directory


def transcript_file(participant_id: int) -> str:
    return f"transcripts/{participant_id}_P/{participant_id}_TRANSCRIPT.csv"


def utterances_of(participant_id: int) -> list[str]:
    """The utterances of a participant in order, long enough that no other participant has them."""
    rows = [row.split("\t") for row in small_files()[transcript_file(participant_id)].decode().splitlines()]
    return [value for _, _, speaker, value in rows if speaker == "Participant" and len(value) > 30]


def evidence_of(items: Mapping[int, int]) -> dict[str, dict[str, list[str]]]:
    """Evidence to submit: for each participant, a quote of their own for the first so many items."""
    return {
        str(participant_id): {
            item.evidence_key: [quote]
            for item, quote in zip(list(PHQ8Item)[:count], utterances_of(participant_id), strict=False)
        }
        for participant_id, count in items.items()
    }


def _head(transcript: bytes) -> bytes:
    return b"".join(transcript.splitlines(keepends=True)[: LINES + 1])
