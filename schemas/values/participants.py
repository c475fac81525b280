"""Participants, their transcripts, labels and splits; reference indexes; what the stages of both store."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer

from schemas.values.base import Embedded, Value
from schemas.values.chat import FromReplies, Message


class PHQ8Item(StrEnum):
    """One item of the PHQ-8, in the order of the questionnaire: iterating gives that order."""

    NO_INTEREST = "NoInterest"
    DEPRESSED = "Depressed"
    SLEEP = "Sleep"
    TIRED = "Tired"
    APPETITE = "Appetite"
    FAILURE = "Failure"
    CONCENTRATING = "Concentrating"
    MOVING = "Moving"

    @property
    def evidence_key(self) -> str:
        """The name of the item in label columns, model replies and prompts: `PHQ8_Sleep`."""
        return f"PHQ8_{self.value}"


ITEMS_BY_KEY = {item.evidence_key: item for item in PHQ8Item}

ITEM_SCORES = range(4)
"""The scores of one item."""


class AssessmentMode(StrEnum):
    """Whether the scoring prompt has references."""

    ZERO_SHOT = "zero_shot"
    FEW_SHOT = "few_shot"


class Split(Value):
    """A named group of participants, in the order of its CSV; of no data set until it is stored."""

    data_set: str = ""
    name: str
    called: str = ""
    """The name, or DATA_SET/NAME where several data sets have a split of that name."""
    participant_ids: tuple[int, ...]
    csv_hash: str
    """First 12 hex digits of the SHA-256 of the CSV's bytes; for a joined split, of its parts' hashes."""
    ids_hash: str
    """First 12 hex digits of the SHA-256 of the ascending ids, joined by commas: the same for every order."""
    made_by: str = "its file"
    """What lists or draws its participants, in words."""
    imported_at: datetime | None = None
    without_transcript: int = Field(default=0, examples=[0])
    """Participants whose transcript is not stored: it cannot be submitted whole."""


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


_of_key = BeforeValidator(lambda key: ITEMS_BY_KEY.get(key, key))
KeyedItem = Annotated[PHQ8Item, _of_key, PlainSerializer(lambda item: item.evidence_key)]
"""An item that files and the database have by its evidence key."""


class Person(Value):
    """A participant with the labels there are, and without the transcript. None is unknown, never zero."""

    id: int
    """Its number in the data set: another data set may have the same."""
    gender: int | None = None
    """As coded in the files: 0 or 1."""
    phq8_binary: int | None = None
    """1 if the score is at least 10, else 0."""
    phq8_score: int | None = None
    """The sum of the items, 0..24."""
    items: dict[KeyedItem, int] | None = None
    """All eight items, 0..3 each."""
    transcript_hash: str = ""
    """SHA-256 of the transcript in UTF-8, 64 hex digits; empty where there is none."""
    variant: TranscriptVariant = TranscriptVariant.UNKNOWN


class Participant(Person):
    """An interview with its labels."""

    transcript: str = Field(repr=False)
    """The utterances as `speaker: value` lines, joined by newline."""
    utterances: tuple[Utterance, ...] = Field(default=(), repr=False, exclude=True)
    """Of its file; they are not stored."""


class DataSet(Value):
    """A complete and consistent data set."""

    participants: dict[int, Participant]
    """Those with a transcript, by id, ascending."""
    labels: dict[int, Person]
    """Those without one, by id, ascending."""
    splits: dict[str, Split]
    """By name: those that have a file, and `train+dev` where both of these have one."""
    patched: dict[int, PHQ8Item] = Field(default_factory=dict)
    """Participant -> the item whose blank cell was computed from the score."""


@dataclass(frozen=True, slots=True)
class FileProblem:
    """Why a file cannot be imported. Safe to log: it never has text of an interview."""

    file: str
    line: int | None
    """From 1, the header being line 1; None for the whole file."""
    found: str
    what_to_do: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.found}; {self.what_to_do}"


class Decision(StrEnum):
    """A validator's decision on one passage. Only `accept` keeps it."""

    ACCEPT = "accept"
    REJECT = "reject"
    UNSURE = "unsure"


class EvidenceExtractor(StrEnum):
    """The source of the quotes of a participant."""

    LLM = "llm"
    """A language model reads the transcript and quotes it."""
    SIMILARITY = "similarity"
    """The participant's utterances nearest to a description of each item, by the embedder."""
    GIVEN = "given"
    """The quotes were part of the submission."""


class ExtractedEvidence(FromReplies):
    """Stage `extract`: the quotes per item. Every item is a key; an item without evidence has an empty tuple."""

    extractor: EvidenceExtractor
    quotes: dict[PHQ8Item, tuple[str, ...]] = Field(repr=False)
    rejected: dict[PHQ8Item, int] = Field(default_factory=dict)
    """Quotes per item that the grounding check did not find in the transcript; items without any are absent."""
    cut_texts: int = 0
    """Utterances longer than the embedder reads, which were cut to be compared."""


class EmbeddedEvidence(Embedded):
    """Stage `embed`: the windows of a reference transcript, if it is one, then the evidence of each item as a text."""

    items: tuple[PHQ8Item, ...]
    embedding_calls: int
    """Calls of the embedder: 1 in batch mode with evidence, 0 without evidence."""
    cut_items: tuple[PHQ8Item, ...] = ()
    """Those whose evidence was cut."""
    chunk_vectors: int = 0
    """The vectors of windows, which come first."""
    cut_chunks: tuple[int, ...] = ()
    """The positions of the windows that were cut, from 0."""


class Reference(Value):
    """A chunk of the reference index, compared with one item of the tested participant."""

    chunk_id: int
    participant_id: int
    ordinal: int
    """Position of the chunk in its transcript, from 0."""
    similarity: float
    """(1 + cosine) / 2, in 0..1."""
    score: int | None
    """0..3, or None when the participant (or the chunk) has no score for the item."""
    chunk_hash: str
    """First 12 hex digits of the SHA-256 of the text."""
    chunk_chars: int
    rerank_score: float | None = None
    """The cross-encoder's logit for evidence and chunk, unbounded; None if it was not scored."""


class RetrievedReferences(Value):
    """Stage `retrieve`: the nearest chunks per item, similarity down, ties by participant and ordinal."""

    index_id: int
    excluded_participants: tuple[int, ...] = ()
    """Ids ascending."""
    items: dict[PHQ8Item, tuple[Reference, ...]]
    dropped: dict[PHQ8Item, dict[str, int]] = Field(default_factory=dict)
    """The number of chunks of the index that the search left out for an item: `tags`, those not tagged with it.

    Items for which none was left out are absent, as are all without the tag filter.
    """


class RankedReferences(Value):
    """Stage `rerank`: the references per item after all filters, in order."""

    ranker: str
    """The ranker: `similarity`, or `cross_encoder` and its model."""
    ranker_digest: str = ""
    """Identifies the weights of the ranker; empty if it has none, or was not called."""
    items: dict[PHQ8Item, tuple[Reference, ...]]
    dropped: dict[PHQ8Item, dict[str, int]]
    """The number of references that each filter dropped: `tags`, `threshold`, `duplicate`, `top_k`, `budget`.

    `tags` counts chunks of the index, the others references that the search returned. Filters that dropped none are
    absent.
    """


class Verdict(Value):
    """The decision on a candidate: a chunk of a question, or a reference of an item. Ranks count from 1."""

    rank: int
    chunk_id: int
    decision: Decision


class ValidatedReferences(FromReplies):
    """Stage `validate`: the references for the prompt, and all verdicts."""

    validator: str | None
    """The model that judged, or `similarity`; None if validation is disabled and every ranked reference is kept."""
    items: dict[PHQ8Item, tuple[Reference, ...]]
    verdicts: dict[PHQ8Item, tuple[Verdict, ...]]


class Neighbour(Value):
    """The evidence of a participant of the index for an item, compared with that of the tested participant."""

    participant_id: int
    similarity: float
    """(1 + cosine) / 2, in 0..1."""
    score: int
    """0..3, of the participant for the item."""


class SimilarityStatistics(Value):
    """Over the kept references of an item that have a score; 0, None, None without any."""

    count: int
    mean: float | None
    maximum: float | None


class AssembledPrompt(Value):
    """Stage `assemble`: the scoring prompt, and the reference block inside it (empty without references)."""

    block: str = Field(repr=False)
    messages: tuple[Message, ...] = Field(repr=False)
    statistics: dict[PHQ8Item, SimilarityStatistics]
    entries: int
    """References shown in the block."""
    left_out: int = 0
    """References that the context of the model had no room for."""


class Chunk(Value):
    """A window of transcript lines of a participant of an index."""

    participant_id: int
    ordinal: int
    """Its position in its transcript, from 0."""
    text: str = Field(repr=False)
    chunk_hash: str
    """First 12 hex digits of the SHA-256 of the text."""
    tags: tuple[KeyedItem, ...] | None = None
    """The items that the text mentions, in alphabetical order of their evidence keys; None in an index without tags."""
    scores: dict[KeyedItem, int | None] | None = None
    """All eight items, 0..3 or null, by the chunk alone; None in an index without chunk scores."""


class ChunkedTranscript(Value):
    """Stage `chunk`: the windows of one transcript, in order."""

    chunks: tuple[Chunk, ...]


class ChunkScoresMeta(Value):
    """`.chunk_scores.meta.json`: the scorer of the chunks."""

    prompt_hash: str
    """First 12 hex digits of the SHA-256 of the scorer's prompt."""
    scorer_model: str | None = None
    scorer_model_digest: str | None = None
    """Identifies the scorer's weights. Only ragq writes it."""
    allow_same_model: bool | None = None
    """True if the scorer was MODEL_QUANTITATIVE_MODEL itself, and this was allowed. Only ragq writes it."""
    generated_at: str | None = None
    source_embeddings: str | None = None
    """File name of the `.npz` whose chunks were scored."""


class PartialBuild(Value):
    """`.partial.json`: what was skipped, which marks an index as incomplete."""

    skipped_participants: tuple[int, ...] = ()
    chunk_skip_reason_counts: dict[str, int] = Field(default_factory=dict)
