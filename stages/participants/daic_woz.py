"""Parser of a complete data set in the DAIC-WOZ layout: the bytes of its files to one consistent DataSet."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from schemas.values.participants import ITEM_SCORES, DataSet, FileProblem, Labels, PHQ8Item, TranscriptVariant
from stages.files.records import Parsed, parse_table
from stages.participants.splits import (
    DEPRESSED_FROM,
    PAPER_FILES,
    ParticipantId,
    parse_split,
    split_of,
)
from stages.participants.transcripts import parse_transcript

_Choice = Annotated[int, Field(ge=0, le=1)]


class _Row(BaseModel):
    """A row of a test file: `participant_ID` (with a small p) and gender."""

    columns: ClassVar[tuple[str, ...]] = ("participant_ID", "Gender")

    id: ParticipantId = Field(validation_alias=AliasChoices("participant_ID", "Participant_ID"))
    gender: _Choice = Field(alias="Gender")


class _ScoredRow(_Row):
    """A row of a full test file: `PHQ_Binary` and `PHQ_Score` (without the 8), no items."""

    columns: ClassVar[tuple[str, ...]] = ("Participant_ID", "PHQ_Binary", "PHQ_Score", "Gender")

    phq8_binary: _Choice = Field(validation_alias=AliasChoices("PHQ_Binary", "PHQ8_Binary"))
    phq8_score: Annotated[int, Field(ge=0, le=24)] = Field(validation_alias=AliasChoices("PHQ_Score", "PHQ8_Score"))

    @model_validator(mode="after")
    def _binary_is_of_the_score(self) -> Self:
        if bool(self.phq8_binary) is not (self.phq8_score >= DEPRESSED_FROM):
            found = f"binary is {self.phq8_binary} and the score {self.phq8_score}"
            raise PydanticCustomError("binary", f"{found}, and 1 means a score of {DEPRESSED_FROM} or more")
        return self


_Item = Annotated[PHQ8Item, BeforeValidator(PHQ8Item.from_evidence_key)]
_Score = Annotated[int, Field(ge=ITEM_SCORES[0], le=ITEM_SCORES[-1])]


class _ItemsRow(_ScoredRow):
    """A row of a train or dev file: with the eight items, which add up to the score."""

    columns: ClassVar[tuple[str, ...]] = (
        *("Participant_ID", "PHQ8_Binary", "PHQ8_Score", "Gender"),
        *(item.evidence_key for item in PHQ8Item),
    )

    items: dict[_Item, _Score | None]
    patched: PHQ8Item | None = None

    @model_validator(mode="before")
    @classmethod
    def _items_of_cells(cls, cells: dict[str, Any]) -> dict[str, Any]:
        return cells | {"items": {item.evidence_key: cells[item.evidence_key].strip() or None for item in PHQ8Item}}

    @model_validator(mode="after")
    def _items_are_whole(self, info: ValidationInfo) -> Self:
        blank = [item for item, value in self.items.items() if value is None]
        rest = self.phq8_score - sum(value or 0 for value in self.items.values())
        if not blank and not rest:
            return self
        if not blank:
            raise PydanticCustomError(
                "sum", f"the score is {self.phq8_score} and the items add up to {self.phq8_score - rest}"
            )
        if len(blank) > 1:
            raise PydanticCustomError("blank", f"{len(blank)} items are blank; only a single one can be computed")
        if rest not in ITEM_SCORES:
            raise PydanticCustomError("blank", f"{blank[0].evidence_key} is blank, and the score leaves {rest} for it")
        if not (info.context or {}).get("patch"):
            computed = f"the score minus the other items is {rest}, which --patch-missing-items accepts"
            raise PydanticCustomError("blank", f"{blank[0].evidence_key} is blank; {computed}")
        self.items[blank[0]], self.patched = rest, blank[0]
        return self


def parse_labels(kind: type[_Row], data: bytes, *, file: str, patch: bool = False) -> Parsed[tuple[Labels, ...]]:
    """Read a file of labels, in its order. With `patch` a single blank item is the score minus the others."""
    rows, problems = parse_table(
        lambda cells: kind.model_validate(cells, context={"patch": patch}),
        data,
        file=file,
        columns=kind.columns,
        what_to_do="correct the row, or remove it",
    )
    labels = (Labels(participant_id=row.id, **row.model_dump(exclude={"id"})) for row in rows)
    return Parsed(tuple(labels), problems)


ITEM_LABEL_FILES: Mapping[str, str] = {
    "train": "train_split_Depression_AVEC2017.csv",
    "dev": "dev_split_Depression_AVEC2017.csv",
}
"""Split name -> the file of its participants with all labels."""
TOTAL_LABEL_FILE = "full_test_split.csv"
GENDER_LABEL_FILE = "test_split_Depression_AVEC2017.csv"
LABEL_FILES: Mapping[str, type[_Row]] = {
    **dict.fromkeys(ITEM_LABEL_FILES.values(), _ItemsRow),
    TOTAL_LABEL_FILE: _ScoredRow,
    GENDER_LABEL_FILE: _Row,
}
"""The files of labels, of which the first has most."""

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
    participant is in two AVEC splits or in two paper splits, paper participants have item labels, the two test files
    agree on gender, and participants of a split other than test have a transcript (if there are transcripts at all).
    """
    transcripts = {
        int(match[1]): parse_transcript(data, file=file, participant_id=int(match[1]), variant=variant)
        for file, data in files.items()
        if (match := _TRANSCRIPT_FILE.fullmatch(file))
    }
    labels = {
        file: parse_labels(kind, files[file], file=file, patch=patch_missing_items)
        for file, kind in LABEL_FILES.items()
        if file in files
    }
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
