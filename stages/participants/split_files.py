"""Files that list the participants of splits: the metadata of the paper's splits, or a CSV of ids and names."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from schemas.values.interviews import FileProblem, Split
from stages.files.records import Parsed, Separator, parse_rows, validation_problems
from stages.participants.paper_metadata import PaperMetadata
from stages.participants.split_names import TRAIN_AND_DEV
from stages.participants.splits import PUBLISHED_SPLITS, split_of

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
    problems = (*parsed.problems, *_wrong(parsed.value, file))
    if not problems and not parsed.value:
        problems = (_problem(file, "lists no participant", _WHAT_TO_WRITE),)
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
            problems.append(FileProblem(file=file, line=row.line, found=found, what_to_do="write the number"))
    return Parsed(listed, tuple(problems))


def _wrong(listed: Mapping[str, Sequence[int]], file: str) -> Iterator[FileProblem]:
    for name, ids in listed.items():
        if _NAME.fullmatch(name) is None:
            yield _problem(file, "a split has no usable name", "write letters, digits and - + _ . (at most 64)")
        elif name in _RESERVED:
            yield _problem(file, f"'{name}' stands for another split", "write another name")
        elif not ids:
            yield _problem(file, f"{name} lists no participant", "list its ids, or leave the split out")
        if outside := [number for number in ids if number not in _IDS]:
            yield _problem(file, f"{name} lists {len(outside)} numbers outside 1..999999", "write participant ids")
        if twice := sorted(number for number, count in Counter(ids).items() if count > 1):
            yield _problem(file, f"{name} lists {', '.join(map(str, twice))} more than once", "list each id once")


def _problem(file: str, found: str, what_to_do: str) -> FileProblem:
    return FileProblem(file=file, line=None, found=found, what_to_do=what_to_do)
