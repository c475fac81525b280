"""Parser of a complete data set in the DAIC-WOZ layout: the bytes of its files to one consistent DataSet."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Self

from pydantic import AliasChoices, BaseModel, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from schemas.values.participants import (
    ITEM_SCORES,
    ITEMS_BY_KEY,
    DataSet,
    FileProblem,
    KeyedItem,
    Person,
    PHQ8Item,
    Split,
    TranscriptVariant,
)
from stages.participants.splits import (
    DEPRESSED_FROM,
    PAPER_FILES,
    TRAIN_AND_DEV,
    ParticipantId,
    overlaps,
    parse_split,
    split_of,
    train_and_dev,
)
from stages.participants.transcripts import parse_transcript
from stages.records import Parsed, parse_records, parse_rows

_Choice = Annotated[int, Field(ge=0, le=1)]


_Score = Annotated[int, Field(ge=ITEM_SCORES[0], le=ITEM_SCORES[-1])]


class _LabelRow(BaseModel):
    """A row of a file of labels: with totals in some files, and in some of these with the items they add up."""

    id: ParticipantId = Field(validation_alias=AliasChoices("participant_ID", "Participant_ID"))
    gender: _Choice = Field(alias="Gender")
    phq8_binary: _Choice | None = Field(default=None, validation_alias=AliasChoices("PHQ_Binary", "PHQ8_Binary"))
    phq8_score: Annotated[int, Field(ge=0, le=24)] | None = Field(
        default=None, validation_alias=AliasChoices("PHQ_Score", "PHQ8_Score")
    )
    items: dict[KeyedItem, _Score | None] | None = None
    patched: PHQ8Item | None = None
    """The item whose blank cell was computed from the score."""

    @model_validator(mode="before")
    @classmethod
    def _items_of_cells(cls, cells: dict[str, str]) -> dict[str, Any]:
        items = {key: cells[key].strip() or None for key in ITEMS_BY_KEY if key in cells}
        return cells | {"items": items or None}

    @model_validator(mode="after")
    def _labels_agree(self, info: ValidationInfo) -> Self:
        if self.phq8_score is None:
            return self
        if bool(self.phq8_binary) is not (self.phq8_score >= DEPRESSED_FROM):
            found = f"binary is {self.phq8_binary} and the score {self.phq8_score}"
            raise PydanticCustomError("binary", f"{found}, and 1 means a score of {DEPRESSED_FROM} or more")
        if self.items is None:
            return self
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


def parse_labels(
    columns: Sequence[str], data: bytes, *, file: str, patch: bool = False
) -> Parsed[tuple[_LabelRow, ...]]:
    """Read a file of labels, in its order. With `patch` a single blank item is the score minus the others."""
    rows = parse_rows(data, file=file, columns=columns)
    read = partial(_LabelRow.model_validate, context={"patch": patch})
    return parse_records(read, rows, file=file, what_to_do="correct the row, or remove it")


ITEM_LABEL_FILES: Mapping[str, str] = {
    "train": "train_split_Depression_AVEC2017.csv",
    "dev": "dev_split_Depression_AVEC2017.csv",
}
"""Split name -> the file of its participants with all labels."""
TOTAL_LABEL_FILE = "full_test_split.csv"
GENDER_LABEL_FILE = "test_split_Depression_AVEC2017.csv"
LABEL_FILES: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(
        ITEM_LABEL_FILES.values(), ("Participant_ID", "PHQ8_Binary", "PHQ8_Score", "Gender", *ITEMS_BY_KEY)
    ),
    TOTAL_LABEL_FILE: ("Participant_ID", "PHQ_Binary", "PHQ_Score", "Gender"),
    GENDER_LABEL_FILE: ("participant_ID", "Gender"),
}
"""The files of labels with their columns; the first has most."""

_TRANSCRIPT_FILE = re.compile(r"[^/]+/([1-9][0-9]{0,5})_P/\1_TRANSCRIPT\.csv")


def parse_data_set(
    files: Mapping[str, bytes],
    *,
    patch_missing_items: bool = False,
    variant: TranscriptVariant = TranscriptVariant.UNKNOWN,
) -> Parsed[DataSet]:
    """Read every file of the layout, each of which may be absent; names are relative to the data set, with slashes, and
    others are ignored. `variant` is that of the transcripts. The problems of all files are reported together. If every
    file is valid by itself, the files are compared."""
    transcripts = {
        int(match[1]): parse_transcript(data, file=file, participant_id=int(match[1]), variant=variant)
        for file, data in files.items()
        if (match := _TRANSCRIPT_FILE.fullmatch(file))
    }
    labels = {
        file: parse_labels(columns, files[file], file=file, patch=patch_missing_items)
        for file, columns in LABEL_FILES.items()
        if file in files
    }
    paper = {
        name: parse_split(files[file], file=file, name=name) for name, file in PAPER_FILES.items() if file in files
    }
    avec = {
        name: split_of(name, [row.id for row in labels[file].value], data=files[file])
        for name, file in ITEM_LABEL_FILES.items()
        if file in files
    }
    splits = avec | {name: parsed.value for name, parsed in paper.items()}
    if avec.keys() == ITEM_LABEL_FILES.keys():
        splits[TRAIN_AND_DEV] = train_and_dev([*avec.values()])
    # The later files have fewer labels, so the first row on each participant is kept.
    rows = {row.id: row for parsed in reversed(labels.values()) for row in parsed.value}
    known = {number: {name: of for name, of in rows[number] if name != "patched"} for number in sorted(rows)}
    data_set = DataSet(
        participants={
            number: transcripts[number].value.model_copy(update=known.get(number)) for number in sorted(transcripts)
        },
        labels={number: Person(**of_one) for number, of_one in known.items() if number not in transcripts},
        splits=splits,
        patched={number: row.patched for number, row in sorted(rows.items()) if row.patched is not None},
    )
    parts: list[Parsed[object]] = [*transcripts.values(), *labels.values(), *paper.values()]
    problems = tuple(problem for parsed in parts for problem in parsed.problems)
    if not parts:
        what_to_do = "name the folder that holds transcripts/ and the label files"
        problems = (FileProblem(".", None, "no file of the DAIC-WOZ layout", what_to_do),)
    if not problems:
        labelled = [number for number, row in rows.items() if row.items is not None]
        add_labels = f"add them to {' or '.join(ITEM_LABEL_FILES.values())}"
        add_transcripts = "add <id>_P/<id>_TRANSCRIPT.csv for each, or remove them"
        files_of_splits = {**ITEM_LABEL_FILES, **PAPER_FILES}
        problems = (
            *_labelled_twice({file: parsed.value for file, parsed in labels.items()}),
            *(
                FileProblem(PAPER_FILES[name], None, found, "keep each in one of them")
                for name, found in overlaps({name: parsed.value.participant_ids for name, parsed in paper.items()})
            ),
            *(_lacking(splits, PAPER_FILES, labelled, "item labels", add_labels) if avec else ()),
            *(_lacking(splits, files_of_splits, transcripts, "transcript", add_transcripts) if transcripts else ()),
        )
    return Parsed(data_set, problems)


def _labelled_twice(labels: Mapping[str, Sequence[_LabelRow]]) -> Iterator[FileProblem]:
    first: dict[int, tuple[str, _LabelRow]] = {}
    for file, rows in labels.items():
        for row in rows:
            earlier_file, earlier = first.setdefault(row.id, (file, row))
            if earlier is row:
                continue
            if (earlier_file, file) != (TOTAL_LABEL_FILE, GENDER_LABEL_FILE):
                yield FileProblem(file, None, f"participant {row.id} is also in {earlier_file}", "keep one of them")
            elif earlier.gender != row.gender:
                found = f"participant {row.id} has another gender in {earlier_file}"
                yield FileProblem(file, None, found, "make the two agree")


def _lacking(
    splits: Mapping[str, Split], files: Mapping[str, str], having: Collection[int], what: str, what_to_do: str
) -> Iterator[FileProblem]:
    """The splits with participants who are not among those that have something."""
    for name in (name for name in files if name in splits):
        if missing := sorted({*splits[name].participant_ids} - {*having}):
            found = f"participants {', '.join(map(str, missing))} have no {what}"
            yield FileProblem(files[name], None, found, what_to_do)
