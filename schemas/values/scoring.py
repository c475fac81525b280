"""What the scoring of a participant stores. An item without a score is N/A, which is a value of its own and never 0."""

from enum import StrEnum

from pydantic import Field

from schemas.values.base import Value
from schemas.values.chat import TokenSignals
from schemas.values.participants import EvidenceExtractor, SimilarityStatistics
from schemas.values.phq8 import PHQ8Item

ITEM_SCORES = range(4)
"""The scores of one item."""


class Severity(StrEnum):
    """A band of the PHQ-8 total."""

    MINIMAL = "minimal"
    """0-4"""
    MILD = "mild"
    """5-9"""
    MODERATE = "moderate"
    """10-14"""
    MOD_SEVERE = "mod_severe"
    """15-19"""
    SEVERE = "severe"
    """20-24"""


class NAReason(StrEnum):
    """Why an item has no score."""

    NO_MENTION = "no_mention"
    """No evidence was extracted for the item."""
    SCORE_NA_WITH_EVIDENCE = "score_na_with_evidence"
    """There was evidence, and the model did not score it."""


class InferenceType(StrEnum):
    """What a frequency was inferred from, where it was not said (Spec 063)."""

    TEMPORAL_MARKER = "temporal_marker"
    INTENSITY_MARKER = "intensity_marker"
    IMPACT_STATEMENT = "impact_statement"


class ReaskReason(StrEnum):
    """Why a reply could not be used, so that the model was asked again."""

    MISSING_STRUCTURE = "missing_structure"
    """There is no JSON object in it."""
    JSON_PARSE = "json_parse"
    """Not even the parse ladder reads its JSON."""
    SCHEMA_VALIDATION = "schema_validation"
    """The object misses items, or has values that are not allowed."""
    CUT_OFF = "cut_off"
    """It ran into the token limit."""


class Consistency(Value):
    """How far the samples of one item agree (Spec 050)."""

    samples: tuple[int | None, ...]
    """The score of each sample, in the order they were drawn; None is N/A."""
    modal_score: int | None
    """The score that most samples have; of equally many N/A goes first, then the smallest."""
    modal_count: int
    modal_confidence: float
    """modal_count / samples."""
    score_std: float
    """Population standard deviation of the numeric samples; 0 for fewer than two of them."""
    na_rate: float


class ItemAnswer(Value):
    """What the model said about one item."""

    evidence: str = Field(default="", repr=False)
    reason: str = Field(default="", repr=False)
    score: int | None = Field(default=None, ge=0, le=3)
    confidence: int | None = Field(default=None, ge=1, le=5)
    """How sure the model says it is: 1 is a guess, 5 certain."""
    inference_used: bool = False
    inference_type: InferenceType | None = None
    inference_marker: str | None = Field(default=None, repr=False)
    """The words the frequency was inferred from."""


class ItemScore(ItemAnswer):
    """The answer on one item, and every signal of how far it can be trusted."""

    na_reason: NAReason | None = None
    """Present where the score is None and reasons are tracked."""
    evidence_source: EvidenceExtractor | None = None
    """Who found the evidence; None without evidence."""
    evidence_count: int = 0
    """Quotes that stage `extract` kept for the item."""
    retrieval: SimilarityStatistics = SimilarityStatistics(count=0, mean=None, maximum=None)
    tokens: TokenSignals | None = None
    """None where token probabilities were not asked for, or the backend gives none."""
    consistency: Consistency | None = None
    """None where a single reply was asked for."""


class Totals(Value):
    """The sum of the items, between the bounds that its N/A items leave."""

    minimum: int
    """N/A counted as 0; this is the total score that is reported."""
    maximum: int
    """N/A counted as 3."""
    minimum_severity: Severity
    maximum_severity: Severity
    severity: Severity | None
    """The band, where both bounds fall into the same one."""


class ParticipantScores(Value):
    """Stage `score`: all eight items of a participant, and what it took to get them."""

    model: str
    model_digest: str
    items: dict[PHQ8Item, ItemScore]
    """All eight, in the order of the questionnaire."""
    totals: Totals
    reasks: tuple[ReaskReason, ...] = ()
    """Why the model was asked again on the way to the replies that were used, in order."""
    repairs: tuple[str, ...] = ()
    """Rungs of the parse ladder that those replies needed, in order."""
    failed_samples: int = 0
    """Samples whose re-asks ran out, and which count for nothing."""


class Subject(Value):
    """A scored participant beside the truth: what metrics are made of. Both hold all eight items."""

    participant_id: int
    items: dict[PHQ8Item, ItemScore]
    truth: dict[PHQ8Item, int]


class ChunkScores(Value):
    """What a chunk of a reference transcript by itself says about each item (Spec 35)."""

    model: str
    model_digest: str
    prompt_hash: str
    """Scores that were made by another prompt are other scores."""
    scores: dict[PHQ8Item, int | None]
    """All eight items, 0..3; None where the chunk does not support any score."""
    repairs: tuple[str, ...] = ()
    """Rungs of the parse ladder that the reply needed, in order."""
