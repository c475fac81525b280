"""The scores of a participant. An item without a score is N/A, which is a separate value and never 0."""

from enum import StrEnum

from pydantic import Field

from schemas.values.base import Value
from schemas.values.chat import FromReplies, TokenSignals
from schemas.values.participants import EvidenceExtractor, PHQ8Item, SimilarityStatistics


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
    """The basis of an inferred frequency (Spec 063)."""

    TEMPORAL_MARKER = "temporal_marker"
    INTENSITY_MARKER = "intensity_marker"
    IMPACT_STATEMENT = "impact_statement"


class ScoreBasis(StrEnum):
    """What the scorer without a language model takes a score from."""

    NEIGHBOURS = "neighbours"
    """The scores of the participants of the index with the nearest evidence."""
    MEDIAN = "median"
    """The median of the index, because there is no evidence for the item."""


class Consistency(Value):
    """The agreement of the samples of one item (Spec 050), or of the scores that its score is the mean of."""

    samples: tuple[int | None, ...]
    """The score of each sample, in order; None is N/A."""
    modal_score: int | None
    """The most frequent score; of equally frequent ones N/A comes first, then the smallest."""
    modal_count: int
    modal_confidence: float
    """modal_count / samples."""
    score_std: float
    """Population standard deviation of the numeric samples; 0 for fewer than two of them."""
    na_rate: float


class ItemScore(Value):
    """The answer for one item, and all signals of its reliability."""

    score: int | None = Field(default=None, ge=0, le=3)
    confidence: int | None = Field(default=None, ge=1, le=5)
    """The certainty that the model states: 1 is a guess, 5 certain."""
    inference_used: bool = False
    inference_type: InferenceType | None = None
    na_reason: NAReason | None = None
    """Present if the score is None and reasons are tracked."""
    evidence_source: EvidenceExtractor | None = None
    """The extractor of the evidence; None without evidence."""
    evidence_count: int = 0
    """Quotes that stage `extract` kept for the item."""
    retrieval: SimilarityStatistics = SimilarityStatistics(count=0, mean=None, maximum=None)
    tokens: TokenSignals | None = None
    """None if token probabilities were not requested, or the backend reports none."""
    consistency: Consistency | None = None
    """None if a single reply was requested."""
    basis: ScoreBasis | None = None
    """None for the score of a language model, and for an N/A."""
    evidence: str = Field(default="", repr=False)
    reason: str = Field(default="", repr=False)
    inference_marker: str | None = Field(default=None, repr=False)
    """The words that the frequency was inferred from."""


class Totals(Value):
    """The bounds of the sum of the items, which N/A items leave open."""

    minimum: int
    """N/A counted as 0; this is the total score that is reported."""
    maximum: int
    """N/A counted as 3."""
    minimum_severity: Severity
    maximum_severity: Severity
    severity: Severity | None
    """The band, if both bounds are in the same one."""


class ParticipantScores(FromReplies):
    """Stage `score`: all eight items of a participant, with re-asks and repairs."""

    model: str
    model_digest: str
    items: dict[PHQ8Item, ItemScore]
    """All eight, in the order of the questionnaire."""
    totals: Totals
    failed_samples: int = 0
    """Samples whose re-asks ran out, and which do not count."""


class Subject(Value):
    """A scored participant with the truth, the input of metrics. Both have all eight items."""

    participant_id: int
    items: dict[PHQ8Item, ItemScore]
    truth: dict[PHQ8Item, int]


class ChunkScores(FromReplies):
    """The item scores that a chunk of a reference transcript supports by itself (Spec 35)."""

    model: str
    model_digest: str
    prompt_hash: str
    """Scores of different prompts are not comparable."""
    scores: dict[PHQ8Item, int | None]
    """All eight items, 0..3; None where the chunk does not support any score."""
