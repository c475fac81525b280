"""The synthetic data set as files in the DAIC-WOZ layout."""

import random
from collections.abc import Iterable, Mapping
from importlib import resources
from itertools import accumulate
from pathlib import Path

from demo.interview import Turn, hold_interview
from schemas.errors import Refused
from schemas.values.participants import ITEMS_BY_KEY, PHQ8Item
from stages.participants.splits import PUBLISHED_IDS, PUBLISHED_SPLITS

MARGINALS: Mapping[PHQ8Item, tuple[float, float, float, float]] = {
    PHQ8Item.NO_INTEREST: (0.75, 0.16, 0.05, 0.04),
    PHQ8Item.DEPRESSED: (0.76, 0.17, 0.04, 0.03),
    PHQ8Item.SLEEP: (0.62, 0.22, 0.07, 0.09),
    PHQ8Item.TIRED: (0.50, 0.33, 0.08, 0.09),
    PHQ8Item.APPETITE: (0.75, 0.15, 0.05, 0.05),
    PHQ8Item.FAILURE: (0.83, 0.11, 0.03, 0.03),
    PHQ8Item.CONCENTRATING: (0.83, 0.11, 0.03, 0.03),
    PHQ8Item.MOVING: (0.89, 0.07, 0.02, 0.02),
}
"""Shares of the scores 0..3 among US adults, rounded: CDC NHANES 2005-2018, depression screener DPQ010 to DPQ080."""

WORST_OF = 3
"""Quantiles drawn per score, of which the highest counts: with 3, about three in ten participants reach 10 points."""

SHARED = 0.7
"""The probability that an item follows the participant's overall severity instead of an independent draw."""


def _draw_scores(rng: random.Random) -> dict[PHQ8Item, int]:
    """Correlated scores of the eight items, in the questionnaire's order."""
    severity = _draw_quantile(rng)
    return {
        item: _score_at(severity if rng.random() < SHARED else _draw_quantile(rng), shares)
        for item, shares in MARGINALS.items()
    }


def _draw_quantile(rng: random.Random) -> float:
    return max(rng.random() for _ in range(WORST_OF))


def _score_at(quantile: float, shares: tuple[float, ...]) -> int:
    """The score at this quantile of the population."""
    return sum(quantile >= limit for limit in list(accumulate(shares))[:-1])


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their names relative to a folder. Raises Refused first when the folder holds anything else."""
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        name = path.relative_to(directory).as_posix()
        if name not in files or files[name] != path.read_bytes():
            raise Refused(f"{directory} already holds {name}, which is not of this data set. Name a new folder.")
    for name, data in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


_PAUSE_MS = (200, 2600)
_START_MS = (1200, 9000)
_WORD_MS = (240, 460)
"""Each a half-open range: from, to."""


def transcript_file(turns: Iterable[Turn], rng: random.Random) -> bytes:
    """The turns as a DAIC-WOZ transcript: TAB separated, in seconds, one turn after the other."""
    now_ms = rng.randrange(*_START_MS)
    lines = ["start_time\tstop_time\tspeaker\tvalue"]
    for speaker, value in turns:
        stop_ms = now_ms + sum(rng.randrange(*_WORD_MS) for _ in value.split())
        lines.append(f"{_seconds(now_ms)}\t{_seconds(stop_ms)}\t{speaker}\t{value}")
        now_ms = stop_ms + rng.randrange(*_PAUSE_MS)
    return ("\n".join(lines) + "\n").encode()


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds // 1000}.{milliseconds % 1000:03d}"


SEED = 20261121

DEV_SIZE = 35
"""Participants of the AVEC dev split; the other 107 are in train."""

_README = f"""\
SYNTHETIC DATA. Every interview and every label here was made up by ragq's generator from its own phrases. \
Nobody was interviewed, and nothing comes from DAIC-WOZ but the layout and the participant numbers.

Written by `ragq demo-data` with seed {SEED}; the same seed writes the same bytes.
Scores are drawn with a shared severity from the marginals of CDC NHANES 2005-2018, shifted upwards.
Do not use this data to say anything about people.
"""


def data_set_files() -> dict[str, bytes]:
    """The 142 labelled participants with their splits, about 2 MB: files by their names relative to the data set, with
    slashes, and the same bytes anywhere."""
    said: set[str] = set()
    participants = {number: _make_participant(number, said) for number in PUBLISHED_IDS}
    dev = set(random.Random(f"{SEED}:dev").sample(PUBLISHED_IDS, DEV_SIZE))
    splits = {
        "train_split_Depression_AVEC2017": [number for number in PUBLISHED_IDS if number not in dev],
        "dev_split_Depression_AVEC2017": sorted(dev),
        **{f"paper_splits/paper_split_{name}": numbers for name, numbers in PUBLISHED_SPLITS.items()},
    }
    return {
        "README.txt": _README.encode(),
        **{
            f"transcripts/{number}_P/{number}_TRANSCRIPT.csv": transcript
            for number, (_, transcript) in participants.items()
        },
        **{f"{name}.csv": _label_file(participants[number][0] for number in ids) for name, ids in splits.items()},
    }


def _make_participant(number: int, said: set[str]) -> tuple[str, bytes]:
    """The line of the labels, and the transcript."""
    rng = random.Random(f"{SEED}:{number}")
    gender, scores = rng.randrange(2), _draw_scores(rng)
    total = sum(scores.values())
    labels = ",".join(map(str, [number, int(total >= 10), total, gender, *scores.values()]))
    return labels, transcript_file(hold_interview(scores, rng=rng, said=said), rng)


def _label_file(lines: Iterable[str]) -> bytes:
    columns = ["Participant_ID", "PHQ8_Binary", "PHQ8_Score", "Gender", *ITEMS_BY_KEY]
    return ("\n".join([",".join(columns), *lines]) + "\n").encode()


def packaged_files(name: str) -> dict[str, bytes]:
    """The works as markdown files, or the files of the vocabulary, about 25 KB."""
    files = sorted((resources.files("demo") / name).iterdir(), key=lambda file: file.name)
    return {file.name: file.read_bytes() for file in files}
