"""What a data set of interviews holds: transcripts, labels, splits, and what is wrong with its files."""

from enum import StrEnum
from typing import Literal

from pydantic import ConfigDict, Field

from schemas.values.base import Value
from schemas.values.phq8 import PHQ8Item


class Utterance(Value):
    """One row of a transcript. What was said stays out of repr() and of validation errors."""

    model_config = ConfigDict(hide_input_in_errors=True)

    speaker: str
    value: str = Field(repr=False)
    """As it was written: case, punctuation and angle-bracket tags are kept."""
    start_s: float | None = None
    stop_s: float | None = None
    """Seconds from the start of the recording; None where the cell is blank."""


class Transcript(Value):
    """An interview. The text is the utterances as `speaker: value` lines, joined by newline."""

    model_config = ConfigDict(hide_input_in_errors=True)

    participant_id: int
    text: str = Field(repr=False)
    sha256: str
    """Of the text in UTF-8, 64 hex digits."""
    utterances: tuple[Utterance, ...] = Field(repr=False)


class TranscriptVariant(StrEnum):
    """How a transcript was cleaned before use."""

    BOTH_SPEAKERS_CLEAN = "both_speakers_clean"
    """Lead-in, sync markers and interruptions are gone; both speakers stay."""
    PARTICIPANT_ONLY = "participant_only"
    """Clean, without the interviewer."""
    PARTICIPANT_QA = "participant_qa"
    """Clean, with the one interviewer row before each block of the participant."""


class Labels(Value):
    """What is known of a participant beside the interview. None is unknown, never zero."""

    participant_id: int
    gender: Literal[0, 1]
    """As the files code it."""
    phq8_binary: bool | None = None
    """Whether the score is at least 10."""
    phq8_score: int | None = None
    """The sum of the items, 0..24."""
    items: dict[PHQ8Item, int] | None = None
    """All eight items, 0..3 each."""
    patched: PHQ8Item | None = None
    """The item whose blank cell was rebuilt from the score."""


class Split(Value):
    """A named group of participants, in the order of its CSV."""

    name: str
    participant_ids: tuple[int, ...]
    csv_hash: str
    """First 12 hex digits of the SHA-256 of the CSV's bytes; for a joined split, of its parts' hashes."""
    ids_hash: str
    """First 12 hex digits of the SHA-256 of the ascending ids, joined by commas: the same for every order."""


class DataSet(Value):
    """Everything that was read, and consistent as a whole."""

    transcripts: dict[int, Transcript]
    """By participant id, ascending."""
    labels: dict[int, Labels]
    """By participant id, ascending."""
    splits: dict[str, Split]
    """By name: those of `train`, `dev`, `paper-train`, `paper-val` and `paper-test` that have a file."""


class FileProblem(Value):
    """Why a file cannot be imported. Safe to log: it never holds what was said."""

    file: str
    line: int | None
    """From 1, the header being line 1; None where the file as a whole is meant."""
    found: str
    what_to_do: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.found}; {self.what_to_do}"
