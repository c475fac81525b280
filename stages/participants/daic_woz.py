"""Parser of a complete data set in the DAIC-WOZ layout: the bytes of its files to one consistent DataSet."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal, cast

from schemas.values.participants import ITEM_SCORES, DataSet, FileProblem, Labels, PHQ8Item, TranscriptVariant
from stages.files.records import DelimitedRow, Parsed, Separator, parse_rows
from stages.participants.splits import (
    DEPRESSED_FROM,
    METADATA_FILE,
    PAPER_FILES,
    check_paper_metadata,
    parse_split,
    split_of,
)
from stages.participants.transcripts import parse_transcript

_PARTICIPANT_IDS = range(1, 1_000_000)
_CHOICES = range(2)
_TOTAL_SCORES = range(25)
_WHOLE_NUMBER = re.compile(r"([0-9]{1,9})(\.0+)?")


def parse_item_labels(data: bytes, *, file: str, patch_missing_items: bool = False) -> Parsed[tuple[Labels, ...]]:
    """Read a train or dev file: gender, binary, score and the eight items, in the order of the file.

    In each row the score must be the sum of the items, and binary must be 1 exactly if it is at least DEPRESSED_FROM.
    With `patch_missing_items` a single blank item is computed by `patch_missing_item`; otherwise it is a problem that
    names the computed value. Two blank items, or a value outside 0..3, are always a problem.
    """
    items = tuple(item.evidence_key for item in PHQ8Item)
    columns = ("Participant_ID", "PHQ8_Binary", "PHQ8_Score", "Gender", *items)
    return _parse_labels(data, file, columns, lambda cells: _item_labels(cells, patch=patch_missing_items))


def parse_total_labels(data: bytes, *, file: str) -> Parsed[tuple[Labels, ...]]:
    """Read a full test file: gender, `PHQ_Binary` and `PHQ_Score` (without the 8), no items."""
    columns = ("Participant_ID", "PHQ_Binary", "PHQ_Score", "Gender")
    return _parse_labels(data, file, columns, partial(_scored_labels, binary="PHQ_Binary", score="PHQ_Score"))


def parse_gender_labels(data: bytes, *, file: str) -> Parsed[tuple[Labels, ...]]:
    """Read a test file: `participant_ID` (with a small p) and gender."""
    return _parse_labels(data, file, ("participant_ID", "Gender"), _gender_labels)


def patch_missing_item(items: Mapping[PHQ8Item, int | None], *, score: int) -> dict[PHQ8Item, int]:
    """All items, the single missing one computed as the score minus the known ones.

    Raises ValueError unless exactly one is missing and its value is in 0..3.

    >>> known = dict.fromkeys(PHQ8Item, 1) | {PHQ8Item.SLEEP: None}
    >>> patch_missing_item(known, score=9)[PHQ8Item.SLEEP]
    2
    """
    missing = [item for item, value in items.items() if value is None]
    rest = score - sum(value for value in items.values() if value is not None)
    if len(missing) != 1:
        raise ValueError(f"{len(missing)} items are missing; only a single one can be computed.")
    if rest not in ITEM_SCORES:
        raise ValueError(f"The score {score} leaves {rest} for {missing[0].evidence_key}, which is not in 0..3.")
    return {item: rest if value is None else value for item, value in items.items()}


class _Cells:
    """The cells of one row. Their problems are collected in `problems`."""

    def __init__(self, row: DelimitedRow, file: str) -> None:
        self._row, self._file = row, file
        self.problems: list[FileProblem] = []

    def report(self, found: str, what_to_do: str) -> None:
        self.problems.append(FileProblem(self._file, self._row.line, found, what_to_do))

    def is_blank(self, column: str) -> bool:
        return not self._row.cells[column].strip()

    def integer(self, column: str, allowed: range) -> int | None:
        """The number in a cell, which may be written as 2.0. None, and a problem, if it is not allowed."""
        expected = f"write a whole number, {allowed.start}..{allowed.stop - 1}"
        if self.is_blank(column):
            self.report(f"{column} is blank", expected)
            return None
        match = _WHOLE_NUMBER.fullmatch(self._row.cells[column].strip())
        if match is None or int(match[1]) not in allowed:
            self.report(f"{column} is {'not a whole number' if match is None else int(match[1])}", expected)
            return None
        return int(match[1])


def _parse_labels(
    data: bytes, file: str, columns: tuple[str, ...], read: Callable[[_Cells], Labels | None]
) -> Parsed[tuple[Labels, ...]]:
    rows, row_problems = parse_rows(data, file=file, separator=Separator.COMMA, columns=columns)
    problems = list(row_problems)
    labels: list[Labels] = []
    lines: dict[int, int] = {}
    for row in rows:
        cells = _Cells(row, file)
        label = read(cells)
        if label is not None:
            line = lines.setdefault(label.participant_id, row.line)
            if line != row.line:
                cells.report(f"participant {label.participant_id} is already in line {line}", "keep one of them")
            labels.append(label)
        problems += cells.problems
    return Parsed(tuple(labels), tuple(problems))


def _item_labels(cells: _Cells, *, patch: bool) -> Labels | None:
    labels = _scored_labels(cells, binary="PHQ8_Binary", score="PHQ8_Score")
    items = {
        item: None if cells.is_blank(item.evidence_key) else cells.integer(item.evidence_key, ITEM_SCORES)
        for item in PHQ8Item
    }
    if labels is None or cells.problems:
        return None
    score = cast(int, labels.phq8_score)
    missing = next((item for item, value in items.items() if value is None), None)
    try:
        whole = patch_missing_item(items, score=score) if missing else cast(dict[PHQ8Item, int], items)
    except ValueError as error:
        cells.report(f"item cells are blank and cannot be computed: {error}", "fill them in, or remove this row")
        return None
    if missing and not patch:
        found = f"{missing.evidence_key} is blank; the score minus the other items is {whole[missing]}"
        cells.report(found, f"write {whole[missing]} there, or accept it with --patch-missing-items")
        return None
    if sum(whole.values()) != score:
        cells.report(
            f"PHQ8_Score is {score} and the items add up to {sum(whole.values())}", "correct the score or the items"
        )
        return None
    return labels.model_copy(update={"items": whole, "patched": missing})


def _scored_labels(cells: _Cells, *, binary: str, score: str) -> Labels | None:
    labels = _gender_labels(cells, participant="Participant_ID")
    is_depressed, total = cells.integer(binary, _CHOICES), cells.integer(score, _TOTAL_SCORES)
    if labels is None or is_depressed is None or total is None:
        return None
    if bool(is_depressed) is not (total >= DEPRESSED_FROM):
        found = f"{binary} is {is_depressed} and {score} is {total}, and 1 means a score of {DEPRESSED_FROM} or more"
        cells.report(found, f"write {int(total >= DEPRESSED_FROM)} into {binary}, or correct the score")
    return labels.model_copy(update={"phq8_binary": bool(is_depressed), "phq8_score": total})


def _gender_labels(cells: _Cells, *, participant: str = "participant_ID") -> Labels | None:
    participant_id, gender = cells.integer(participant, _PARTICIPANT_IDS), cells.integer("Gender", _CHOICES)
    if participant_id is None or gender is None:
        return None
    return Labels(participant_id=participant_id, gender=cast(Literal[0, 1], gender))


ITEM_LABEL_FILES: Mapping[str, str] = {
    "train": "train_split_Depression_AVEC2017.csv",
    "dev": "dev_split_Depression_AVEC2017.csv",
}
"""Split name -> the file of its participants with all labels."""
TOTAL_LABEL_FILE = "full_test_split.csv"
GENDER_LABEL_FILE = "test_split_Depression_AVEC2017.csv"

_TRANSCRIPT_FILE = re.compile(r"[^/]+/([1-9][0-9]{0,5})_P/\1_TRANSCRIPT\.csv")


def parse_data_set(
    files: Mapping[str, bytes],
    *,
    patch_missing_items: bool = False,
    variant: TranscriptVariant = TranscriptVariant.UNKNOWN,
) -> Parsed[DataSet]:
    """Read every file of the layout; names are relative to the data set, with slashes. Other names are ignored.

    `variant` is that of the transcripts. Each kind of file may be absent, and no number of rows is required. The
    problems of all files are reported together. If every file is valid by itself, the files are compared: no
    participant is in two AVEC splits or in two paper splits, paper participants have item labels, the paper metadata
    agrees with its CSVs, the two test files agree on gender, and participants of a split other than test have a
    transcript (if there are transcripts at all).
    """
    transcripts = {
        int(match[1]): parse_transcript(data, file=file, participant_id=int(match[1]), variant=variant)
        for file, data in files.items()
        if (match := _TRANSCRIPT_FILE.fullmatch(file))
    }
    labels = {
        file: parse_item_labels(files[file], file=file, patch_missing_items=patch_missing_items)
        for file in ITEM_LABEL_FILES.values()
        if file in files
    }
    if TOTAL_LABEL_FILE in files:
        labels[TOTAL_LABEL_FILE] = parse_total_labels(files[TOTAL_LABEL_FILE], file=TOTAL_LABEL_FILE)
    if GENDER_LABEL_FILE in files:
        labels[GENDER_LABEL_FILE] = parse_gender_labels(files[GENDER_LABEL_FILE], file=GENDER_LABEL_FILE)
    paper = {
        name: parse_split(files[file], file=file, name=name) for name, file in PAPER_FILES.items() if file in files
    }
    avec = {
        name: split_of(name, [label.participant_id for label in labels[file].value], data=files[file])
        for name, file in ITEM_LABEL_FILES.items()
        if file in files
    }
    # The later files have fewer labels, so the first row on each participant is kept.
    by_participant = {label.participant_id: label for parsed in reversed(labels.values()) for label in parsed.value}
    data_set = DataSet(
        transcripts={participant_id: transcripts[participant_id].value for participant_id in sorted(transcripts)},
        labels=dict(sorted(by_participant.items())),
        splits=avec | {name: parsed.value for name, parsed in paper.items()},
    )
    parts: list[Parsed[object]] = [*transcripts.values(), *labels.values(), *paper.values()]
    problems = tuple(problem for parsed in parts for problem in parsed.problems)
    if not parts:
        what_to_do = "name the folder that holds transcripts/ and the label files"
        problems = (FileProblem(".", None, "no file of the DAIC-WOZ layout", what_to_do),)
    if not problems:
        problems = (
            *_labelled_twice({file: parsed.value for file, parsed in labels.items()}),
            *_in_two_paper_splits(data_set),
            *_without_item_labels(data_set),
            *_without_transcript(data_set),
        )
        if METADATA_FILE in files:
            problems += tuple(check_paper_metadata(files[METADATA_FILE], splits=data_set.splits))
    return Parsed(data_set, problems)


def _labelled_twice(labels: Mapping[str, Sequence[Labels]]) -> Iterator[FileProblem]:
    first: dict[int, tuple[str, Labels]] = {}
    for file, rows in labels.items():
        for label in rows:
            earlier_file, earlier = first.setdefault(label.participant_id, (file, label))
            if earlier is label:
                continue
            who = f"participant {label.participant_id}"
            if (earlier_file, file) != (TOTAL_LABEL_FILE, GENDER_LABEL_FILE):
                yield FileProblem(file, None, f"{who} is also in {earlier_file}", "keep one of them")
            elif earlier.gender != label.gender:
                yield FileProblem(file, None, f"{who} has another gender in {earlier_file}", "make the two agree")


def _in_two_paper_splits(data_set: DataSet) -> Iterator[FileProblem]:
    first: dict[int, str] = {}
    for name, file in PAPER_FILES.items():
        ids = data_set.splits[name].participant_ids if name in data_set.splits else ()
        for participant_id in ids:
            earlier = first.setdefault(participant_id, name)
            if earlier != name:
                yield FileProblem(file, None, f"participant {participant_id} is also in {earlier}", "keep one of them")


def _without_item_labels(data_set: DataSet) -> Iterator[FileProblem]:
    if not data_set.splits.keys() & ITEM_LABEL_FILES.keys():
        return
    labelled = {participant_id for participant_id, label in data_set.labels.items() if label.items is not None}
    for name, file in PAPER_FILES.items():
        ids = data_set.splits[name].participant_ids if name in data_set.splits else ()
        missing = sorted(set(ids) - labelled)
        if missing:
            found = f"participants {', '.join(map(str, missing))} have no item labels"
            yield FileProblem(file, None, found, f"add them to {' or '.join(ITEM_LABEL_FILES.values())}")


def _without_transcript(data_set: DataSet) -> Iterator[FileProblem]:
    if not data_set.transcripts:
        return
    for name, split in data_set.splits.items():
        missing = sorted(set(split.participant_ids) - data_set.transcripts.keys())
        if missing:
            file = {**ITEM_LABEL_FILES, **PAPER_FILES}[name]
            found = f"participants {', '.join(map(str, missing))} have no transcript"
            yield FileProblem(file, None, found, "add <id>_P/<id>_TRANSCRIPT.csv for each, or remove them")
