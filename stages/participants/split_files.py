"""Files that list the participants of splits: the metadata of the paper's splits, or a CSV of ids and names."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from pydantic import ValidationError

from schemas.values.participants import FileProblem, Split, SplitMethod, SplitProblem, StoredLabels, StoredSplit
from stages.files.records import Parsed, Separator, parse_rows, validation_problems
from stages.participants.daic_woz import DEPRESSED_FROM
from stages.participants.paper_metadata import PaperMetadata
from stages.participants.split_names import PAPER_FILES, TRAIN_AND_DEV
from stages.participants.splits import PUBLISHED_SPLITS, ids_hash, participants_in_words, split_of
from stages.participants.transcripts import import_command

_WHAT_TO_WRITE = (
    'write {"participant_ids": {"train": [303], "val": [302], "test": [316]}}, or a CSV with the columns '
    "Participant_ID and split"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+_.-]{0,63}")
_RESERVED = ("paper", "avec-train", TRAIN_AND_DEV)
"""Names that stand for other splits."""
_IDS = range(1, 1_000_000)


def parse_listed_splits(data: bytes, *, file: str) -> Parsed[tuple[Split, ...]]:
    """The splits that a file lists, participants in its order.

    A file that starts with `{` is JSON in the form of the paper's metadata, whose parts train, val and test are the
    splits paper-train, paper-val and paper-test. Any other file is a CSV whose column `split` has the names.
    """
    parsed = _of_json(data, file) if data.lstrip()[:1] == b"{" else _of_csv(data, file)
    problems = (*parsed.problems, *(FileProblem(file, None, *wrong) for wrong in _wrong(parsed.value)))
    if not problems and not parsed.value:
        problems = (FileProblem(file, None, "lists no participant", _WHAT_TO_WRITE),)
    return Parsed(tuple(split_of(name, ids, data=data) for name, ids in parsed.value.items()), problems)


def _of_json(data: bytes, file: str) -> Parsed[Mapping[str, Sequence[int]]]:
    try:
        listed = PaperMetadata.model_validate_json(data).participant_ids
    except ValidationError as error:
        return Parsed({}, tuple(validation_problems(error, file=file, line=None, what_to_do=_WHAT_TO_WRITE)))
    return Parsed({f"paper-{part}" if part in PUBLISHED_SPLITS else part: ids for part, ids in listed.items()})


def _of_csv(data: bytes, file: str) -> Parsed[Mapping[str, Sequence[int]]]:
    rows, of_file = parse_rows(data, file=file, separator=Separator.COMMA, columns=("Participant_ID", "split"))
    problems = [*of_file]
    listed: dict[str, list[int]] = {}
    for row in rows:
        cell = row.cells["Participant_ID"].strip()
        if cell.isascii() and cell.isdigit() and len(cell) <= 6:
            listed.setdefault(row.cells["split"].strip(), []).append(int(cell))
        else:
            found = "Participant_ID is not a whole number, 1..999999"
            problems.append(FileProblem(file, row.line, found, "write the number"))
    return Parsed(listed, tuple(problems))


def _wrong(listed: Mapping[str, Sequence[int]]) -> Iterator[tuple[str, str]]:
    """What is wrong, and what to do."""
    for name, ids in listed.items():
        if _NAME.fullmatch(name) is None:
            yield "a split has no usable name", "write letters, digits and - + _ . (at most 64)"
        elif name in _RESERVED:
            yield f"'{name}' stands for another split", "write another name"
        elif not ids:
            yield f"{name} lists no participant", "list its ids, or leave the split out"
        if outside := [number for number in ids if number not in _IDS]:
            yield f"{name} lists {len(outside)} numbers outside 1..999999", "write participant ids"
        if twice := sorted(number for number, count in Counter(ids).items() if count > 1):
            yield f"{name} lists {', '.join(map(str, twice))} more than once", "list each id once"


_DISJOINT = (tuple(PAPER_FILES), ("train", "dev"))
"""Splits of one group share no participant."""
_LABELLED = (*PAPER_FILES, "train", "dev", TRAIN_AND_DEV)
"""Splits whose participants have item labels."""


def split_problems(splits: Sequence[StoredSplit], people: Mapping[int, StoredLabels]) -> tuple[SplitProblem, ...]:
    """What is wrong with the splits of a data set. `people` are its participants, who all have a transcript, by id."""
    called = {split.name: split.called for split in splits}
    return (
        *(SplitProblem(split.called, *wrong) for split in splits for wrong in _of_one(split, people)),
        *(
            replace(problem, split=called[problem.split])
            for problem in overlaps({split.name: split.participant_ids for split in splits})
        ),
    )


def overlaps(splits: Mapping[str, Sequence[int]]) -> Iterator[SplitProblem]:
    """Participants in two splits that exclude each other."""
    for group in _DISJOINT:
        for name, other in combinations([name for name in group if name in splits], 2):
            if both := set(splits[name]) & set(splits[other]):
                found = f"{participants_in_words(both)} also in {other}"
                yield SplitProblem(name, found, "keep each in one of them")


def _of_one(split: StoredSplit, people: Mapping[int, StoredLabels]) -> Iterator[tuple[str, str]]:
    """What is wrong, and what to do."""
    ids = split.participant_ids
    labels = {number: people[number] for number in ids if number in people}
    imports = f"`{import_command(split.data_set)}` imports them"
    if not ids:
        yield "has no participants", "import or make it again"
    if ids_hash(ids) != split.ids_hash:
        yield "its participants are not those of its hash", "import or make it again"
    if unknown := set(ids) - people.keys():
        yield f"{participants_in_words(unknown)} not stored (no transcript)", imports
    if split.name in _LABELLED and (bare := {number for number, found in labels.items() if found.items is None}):
        yield f"{participants_in_words(bare)} without item labels, in no metric", imports
    if wrong := {number for number, found in labels.items() if not _adds_up(found)}:
        sums = f"{participants_in_words(wrong)} with labels that do not add up"
        yield sums, "correct the label files and import them with --replace"
    if published := _unlike_published(split):
        yield published, "`ragq splits make --paper --replace` makes the paper's, `--from FILE` declares another"


def _adds_up(labels: StoredLabels) -> bool:
    total = labels.phq8_score
    if labels.items is not None and total is not None and sum(labels.items.values()) != total:
        return False
    return labels.phq8_binary is None or total is None or bool(labels.phq8_binary) is (total >= DEPRESSED_FROM)


def _unlike_published(split: StoredSplit) -> str | None:
    part = split.name.removeprefix("paper-")
    is_other = split.origin is not None and split.origin.method in (SplitMethod.STRATIFIED, SplitMethod.LISTED)
    if split.name not in PAPER_FILES or is_other:
        return None
    published = set(PUBLISHED_SPLITS[part])
    differences = {
        "lacks published": published - set(split.participant_ids),
        "has unpublished": set(split.participant_ids) - published,
    }
    return "; ".join(f"{what} {participants_in_words(ids)}" for what, ids in differences.items() if ids) or None
