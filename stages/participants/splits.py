"""The splits of the DAIC-WOZ layout: train, dev and the three paper splits."""

import hashlib
from collections.abc import Iterable, Sequence

from schemas.errors import Refused
from schemas.values.interviews import DataSet, FileProblem, Split
from stages.files.delimited import Separator, parse_rows
from stages.files.problems import Parsed
from stages.participants.split_names import TRAIN_AND_DEV
from stages.texts.hashes import short_hash


def resolve_split(name: str, data_set: DataSet) -> Split:
    """The split of this name; `paper` is `paper-test`, and `train+dev` is train followed by dev.

    Raises Refused, with the names this data set has, for any other name.
    """
    splits = data_set.splits
    known = dict(splits)
    if "train" in splits and "dev" in splits:
        known[TRAIN_AND_DEV] = joined_split(TRAIN_AND_DEV, (splits["train"], splits["dev"]))
    if "paper-test" in splits:
        known["paper"] = splits["paper-test"]
    if name not in known:
        names = ", ".join(sorted(known)) or "none"
        raise Refused(f"Split '{name}' is not in this data set. It has {names}; name one, or import the split's file.")
    return known[name]


def split_of(name: str, participant_ids: Sequence[int], *, data: bytes) -> Split:
    """The split of these participants, whose CSV has these bytes."""
    return Split(
        name=name,
        participant_ids=tuple(participant_ids),
        csv_hash=hashlib.sha256(data).hexdigest()[:12],
        ids_hash=ids_hash(participant_ids),
    )


def listed_split(name: str, participant_ids: Sequence[int]) -> Split:
    """The split of these participants, which no file lists; its CSV hash is that of a file with their ids alone."""
    rows = "".join(f"{number}\n" for number in participant_ids)
    return split_of(name, participant_ids, data=f"Participant_ID\n{rows}".encode())


def ids_hash(participant_ids: Iterable[int]) -> str:
    """12 hex digits that are the same for the same participants in any order.

    >>> ids_hash([3, 1, 2])
    '8a6ae1512200'
    """
    return short_hash(",".join(map(str, sorted(participant_ids))))


def parse_split(data: bytes, *, file: str, name: str) -> Parsed[Split]:
    """Read the ids of a split, in the order of the file. Further columns are not read: labels have their own files."""
    rows, row_problems = parse_rows(data, file=file, separator=Separator.COMMA, columns=("Participant_ID",))
    problems = list(row_problems)
    lines: dict[int, int] = {}
    for row in rows:
        cell = row.cells["Participant_ID"].strip()
        if not (cell.isascii() and cell.isdigit()):
            found, what_to_do = "Participant_ID is not a whole number", "write the participant's number"
            problems.append(FileProblem(file=file, line=row.line, found=found, what_to_do=what_to_do))
        elif lines.setdefault(int(cell), row.line) != row.line:
            found = f"participant {int(cell)} is already in line {lines[int(cell)]}"
            problems.append(FileProblem(file=file, line=row.line, found=found, what_to_do="keep one of them"))
    return Parsed(split_of(name, tuple(lines), data=data), tuple(problems))


def joined_split(name: str, parts: Sequence[Split]) -> Split:
    """The participants of several splits, in their order."""
    participant_ids = [participant_id for part in parts for participant_id in part.participant_ids]
    return split_of(name, participant_ids, data=",".join(part.csv_hash for part in parts).encode())
