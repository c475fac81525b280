"""The synthetic data set as files in the DAIC-WOZ layout."""

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from demo.files import write_files
from demo.interview import hold_interview
from demo.prevalence import draw_scores
from demo.recording import transcript_file
from schemas.values.phq8 import PHQ8Item
from stages.participants.splits import PUBLISHED_IDS, PUBLISHED_SPLITS

SEED = 20261121

DEV_SIZE = 35
"""Participants of the AVEC dev split; the other 107 are in train."""

_ABOUT = (
    "SYNTHETIC DATA. Every interview and every label here was made up by ragq's generator from its own phrases. "
    "Nobody was interviewed, and nothing comes from DAIC-WOZ but the layout and the participant numbers."
)

_README = """{about}

Written by `ragq demo-data` with seed {seed}; the same seed writes the same bytes.
Scores are drawn with a shared severity from the marginals of CDC NHANES 2005-2018, shifted upwards.
Do not use this data to say anything about people.
"""


class _Participant(NamedTuple):
    id: int
    gender: int
    scores: Mapping[PHQ8Item, int]
    transcript: bytes


def write_data_set(directory: Path, seed: int = SEED) -> list[str]:
    """Write the 142 labelled participants with their splits, about 2 MB, and return the names of the files.

    Writing the same again changes nothing. Raises Refused when the folder holds anything else.
    """
    files = data_set_files(seed)
    write_files(directory, files)
    return list(files)


def data_set_files(seed: int = SEED) -> dict[str, bytes]:
    """Every file by its name relative to the data set, with slashes. The same seed gives the same bytes anywhere."""
    said: set[str] = set()
    participants = {number: _make_participant(number, seed, said) for number in PUBLISHED_IDS}
    dev = set(random.Random(f"{seed}:dev").sample(PUBLISHED_IDS, DEV_SIZE))
    splits = {
        "train_split_Depression_AVEC2017": [number for number in PUBLISHED_IDS if number not in dev],
        "dev_split_Depression_AVEC2017": sorted(dev),
        **{f"paper_splits/paper_split_{name}": numbers for name, numbers in PUBLISHED_SPLITS.items()},
    }
    return {
        "README.txt": _README.format(about=_ABOUT, seed=seed).encode(),
        **{
            f"transcripts/{number}_P/{number}_TRANSCRIPT.csv": participant.transcript
            for number, participant in participants.items()
        },
        **{f"{name}.csv": _label_file(participants[number] for number in ids) for name, ids in splits.items()},
        "paper_splits/paper_split_metadata.json": _metadata_file(seed),
    }


def _make_participant(number: int, seed: int, said: set[str]) -> _Participant:
    rng = random.Random(f"{seed}:{number}")
    gender, scores = rng.randrange(2), draw_scores(rng)
    turns = hold_interview(scores, rng=rng, said=said)
    return _Participant(number, gender, scores, transcript_file(turns, rng))


def _label_file(participants: Iterable[_Participant]) -> bytes:
    items = ",".join(item.evidence_key for item in PHQ8Item)
    lines = [f"Participant_ID,PHQ8_Binary,PHQ8_Score,Gender,{items}"]
    for participant in participants:
        total = sum(participant.scores.values())
        cells = [participant.id, int(total >= 10), total, participant.gender, *participant.scores.values()]
        lines.append(",".join(map(str, cells)))
    return ("\n".join(lines) + "\n").encode()


def _metadata_file(seed: int) -> bytes:
    metadata = {
        "description": _ABOUT,
        "synthetic": True,
        "source": "ragq demo-data",
        "seed": seed,
        "methodology": "participant numbers of the paper's published splits",
        "actual_sizes": {name: len(ids) for name, ids in PUBLISHED_SPLITS.items()},
        "participant_ids": PUBLISHED_SPLITS,
    }
    return (json.dumps(metadata, indent=2) + "\n").encode()
