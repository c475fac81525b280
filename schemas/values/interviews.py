"""The content of a data set of interviews: transcripts, labels, splits, and problems of its files."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, NamedTuple

from pydantic import ConfigDict, Field

from schemas.values.base import PlainValue, Value
from schemas.values.phq8 import PHQ8Item


class SplitAddress(NamedTuple):
    """A split of a data set, and the name by which commands find it."""

    data_set: str
    name: str
    called: str
    """The name, or DATA_SET/NAME where several data sets have a split of that name."""


class SplitMethod(StrEnum):
    """How a split was made."""

    FILE = "file"
    """Read from its CSV at an import of participants."""
    PUBLISHED = "published"
    """The participant ids that the paper's authors used."""
    STRATIFIED = "stratified"
    """Drawn by the paper's rule with a seed: participants other than the paper's."""
    LISTED = "listed"
    """Read from a file of ids that was named with `ragq splits make --from`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitOrigin(PlainValue):
    """How a split was made, stored with it."""

    method: SplitMethod
    seed: int | None = None
    file: str | None = None
    """The name of the file of ids."""
    missing: tuple[int, ...] = ()
    """Participants that belong to the split and were not stored when it was made, and are left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSplit(PlainValue):
    """A split as it is stored."""

    data_set: str
    name: str
    called: str
    """As in SplitAddress."""
    participant_ids: tuple[int, ...]
    csv_hash: str
    ids_hash: str
    origin: SplitOrigin | None
    """None for a split that was imported before this was stored."""
    imported_at: datetime


class TranscriptVariant(StrEnum):
    """How a transcript was cleaned before use."""

    UNKNOWN = "unknown"
    """Not recorded: imported before variants were stored, or from files that do not name theirs."""
    RAW = "raw"
    """As the data set has it."""
    BOTH_SPEAKERS_CLEAN = "both_speakers_clean"
    """Without lead-in, sync markers and interruptions; with both speakers."""
    PARTICIPANT_ONLY = "participant_only"
    """Clean, without the interviewer."""
    PARTICIPANT_QA = "participant_qa"
    """Clean, with the one interviewer row before each block of the participant."""


class Utterance(Value):
    """One row of a transcript. Its text is not shown by repr() and validation errors."""

    model_config = ConfigDict(hide_input_in_errors=True)

    speaker: str
    value: str = Field(repr=False)
    """As written: case, punctuation and angle-bracket tags are kept."""
    start_s: float | None = None
    stop_s: float | None = None
    """Seconds from the start of the recording; None if the cell is blank."""


class RowIrregularity(StrEnum):
    """What is odd about a row of a transcript whose speech is kept."""

    UNKNOWN_SPEAKER = "unknown_speaker"
    """The speaker is neither the interviewer nor the participant."""
    STOP_BEFORE_START = "stop_before_start"
    """The row stops before it starts."""


class Transcript(Value):
    """An interview. The text is the utterances as `speaker: value` lines, joined by newline."""

    model_config = ConfigDict(hide_input_in_errors=True)

    participant_id: int
    text: str = Field(repr=False)
    sha256: str
    """Of the text in UTF-8, 64 hex digits."""
    utterances: tuple[Utterance, ...] = Field(repr=False)
    variant: TranscriptVariant = TranscriptVariant.UNKNOWN
    irregular_rows: dict[RowIrregularity, int] = Field(default_factory=dict)
    """How many rows of the file have each irregularity; those without any are absent."""


class Labels(Value):
    """The labels of a participant. None is unknown, never zero."""

    participant_id: int
    gender: Literal[0, 1]
    """As coded in the files."""
    phq8_binary: bool | None = None
    """Whether the score is at least 10."""
    phq8_score: int | None = None
    """The sum of the items, 0..24."""
    items: dict[PHQ8Item, int] | None = None
    """All eight items, 0..3 each."""
    patched: PHQ8Item | None = None
    """The item whose blank cell was computed from the score."""


class Split(Value):
    """A named group of participants, in the order of its CSV."""

    name: str
    participant_ids: tuple[int, ...]
    csv_hash: str
    """First 12 hex digits of the SHA-256 of the CSV's bytes; for a joined split, of its parts' hashes."""
    ids_hash: str
    """First 12 hex digits of the SHA-256 of the ascending ids, joined by commas: the same for every order."""


class StoredLabels(Value):
    """The labels of a participant as they are stored. None is unknown."""

    gender: int | None
    phq8_binary: int | None
    phq8_score: int | None
    items: dict[PHQ8Item, int] | None


class SplitProblem(Value):
    """What is wrong with a stored split."""

    split: str
    found: str
    what_to_do: str

    def __str__(self) -> str:
        return f"{self.split}: {self.found}; {self.what_to_do}"


class DataSet(Value):
    """A complete and consistent data set."""

    transcripts: dict[int, Transcript]
    """By participant id, ascending."""
    labels: dict[int, Labels]
    """By participant id, ascending."""
    splits: dict[str, Split]
    """By name: those of `train`, `dev`, `paper-train`, `paper-val` and `paper-test` that have a file."""


class FileProblem(Value):
    """Why a file cannot be imported. Safe to log: it never has text of an interview."""

    file: str
    line: int | None
    """From 1, the header being line 1; None for the whole file."""
    found: str
    what_to_do: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.found}; {self.what_to_do}"
