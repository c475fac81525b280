"""The outputs of the stages of a participant job."""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from schemas.values.base import Value
from schemas.values.chat import Message, ReaskReason
from schemas.values.phq8 import PHQ8Item
from schemas.values.verdicts import Decision


class EvidenceExtractor(StrEnum):
    """The source of the quotes of a participant."""

    LLM = "llm"
    """A language model reads the transcript and quotes it."""
    SIMILARITY = "similarity"
    """The participant's utterances nearest to a description of each item, by the embedder."""
    GIVEN = "given"
    """The quotes were part of the submission."""


class ExtractedEvidence(Value):
    """Stage `extract`: the quotes per item. Every item is a key; an item without evidence has an empty tuple."""

    extractor: EvidenceExtractor
    quotes: dict[PHQ8Item, tuple[str, ...]] = Field(repr=False)
    rejected: dict[PHQ8Item, int] = Field(default_factory=dict)
    """Quotes per item that the grounding check did not find in the transcript; items without any are absent."""
    reasks: tuple[ReaskReason, ...] = ()
    """The reasons of the re-asks before the used reply, in order."""
    repairs: tuple[str, ...] = ()
    """Repairs that reading the model's reply needed, in order; empty if strict parsing succeeded."""
    cut_texts: int = 0
    """Utterances longer than the embedder reads, which were cut to be compared."""
    unknown_keys: tuple[str, ...] = ()
    """The shapes of keys in the reply that belong to no item, and whose values were left out: `PHQ8_xxxx`."""

    @property
    def hallucinated(self) -> bool:
        """There are quotes and none occurs in the transcript."""
        return sum(self.rejected.values()) > 0 and not any(self.quotes.values())


class EmbeddedEvidence(Value):
    """Stage `embed`: the embedded items. The vectors are stored separately, one per item, in this order."""

    model: str
    model_digest: str
    dtype: str = ""
    """The number format of the embedder's weights; empty without evidence, or if its server reports none."""
    dimension: int
    items: tuple[PHQ8Item, ...]
    embedding_calls: int
    """Calls of the embedder: 1 in batch mode with evidence, 0 without evidence."""
    cut_texts: int = 0
    """Items whose evidence is longer than the embedder reads, and was cut."""
    cut_items: tuple[PHQ8Item, ...] = ()
    """These items."""
    reused_texts: int = 0
    """Texts whose vectors were stored before, and were not computed again."""


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
    excluded_participant: int | None
    """The tested one; None in an index of another data set."""
    excluded_participants: tuple[int, ...] = ()
    """All of them, ids ascending; empty in outputs of versions that excluded only the tested one."""
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
    """The decision on a reference, with its rank (from 1) among the ranked references of the item."""

    rank: int
    chunk_id: int
    decision: Decision


class ValidatedReferences(Value):
    """Stage `validate`: the references for the prompt, and all verdicts."""

    validator: str | None
    """The model that judged, or `similarity`; None if validation is disabled and every ranked reference is kept."""
    items: dict[PHQ8Item, tuple[Reference, ...]]
    verdicts: dict[PHQ8Item, tuple[Verdict, ...]]
    reasks: tuple[ReaskReason, ...] = ()
    """The reasons of the re-asks before the verdicts, in order."""
    repairs: tuple[str, ...] = ()
    """Always empty: a repaired verdict would be a guess."""


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


@dataclass(frozen=True, kw_only=True, eq=False)
class ParticipantChunks:
    """The chunks of one participant, in order: every field has an entry or a row per chunk."""

    participant_id: int
    texts: tuple[str, ...] = field(repr=False)
    vectors: NDArray[np.float32] = field(repr=False)
    """One row of length 1 per chunk."""
    tags: tuple[tuple[PHQ8Item, ...], ...] | None = None
    """None for an index without tags."""
    scores: tuple[dict[PHQ8Item, int | None], ...] | None = None
    """All eight items per chunk, 0..3 or None; None for an index without chunk scores."""
