"""The scores of participants, and the metrics over them.

An item without a score is N/A, which is a separate value and never 0. A metric that is None is undefined; NaN or 0 is
never used instead.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from statistics import fmean
from typing import Annotated, Any, Final

from pydantic import Field, computed_field

from schemas.statuses import JobStatus
from schemas.values.base import Value
from schemas.values.chat import FromReplies, TokenSignals
from schemas.values.participants import (
    ITEM_SCORES,
    AssessmentMode,
    EvidenceExtractor,
    KeyedItem,
    PHQ8Item,
    SimilarityStatistics,
)


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
    scores: dict[KeyedItem, int | None]
    """All eight items, 0..3; None where the chunk does not support any score."""


class TotalMetrics(Value):
    """The total score, over the participants with enough scored items to have one."""

    subjects: int
    predicted: int
    coverage: float | None
    """predicted / subjects"""
    mae: float | None
    rmse: float | None
    pearson_r: float | None
    severity_accuracy: float | None


class BinaryMetrics(Value):
    """Predictions of depression, over the participants whose bounds allow only one."""

    subjects: int
    predicted: int
    coverage: float | None
    """predicted / subjects"""
    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    auroc: float | None
    confusion: dict[str, int]
    """`true_positive`, `false_positive`, `true_negative` and `false_negative`; positive is depressed."""


class RiskCoveragePoint(Value):
    """The point at which all items of at least this confidence are included."""

    confidence: float
    coverage: float
    """Included items / all items of all successful participants."""
    selective_risk: float
    """Mean loss of the included items."""
    generalized_risk: float
    """Their summed loss / all items."""


class ReliabilityBin(Value):
    """The scored items whose confidence falls between two bounds."""

    low: float
    high: float
    """Included only in the last bin."""
    count: int
    confidence: float | None
    """Mean."""
    exact: float | None
    """Share of scores that equal the truth."""
    loss: float | None
    """Mean."""


LEAST: Final = 10
"""Participants, or queries, of which an interval is made: percentiles of fewer say more than is known."""


class Interval(Value):
    """A value with its 95 % percentile interval over resampled participants."""

    value: float | None = Field(examples=[0.75])
    low: float | None = Field(examples=[0.62])
    """None, as are `high` and `std`, for a value of one participant, which resampling cannot vary."""
    high: float | None = Field(examples=[0.86])
    std: float | None = Field(examples=[0.06])
    """Standard error: the sample standard deviation over the resamples; None for fewer than two of them."""
    drop_rate: float = Field(examples=[0.0])
    """Share of resamples in which the metric has no value."""
    resamples: int = Field(examples=[10000])


_Score = Annotated[int, Field(ge=0, le=3)]


def ground_truth(labels: Mapping[str, Any] | None) -> dict[PHQ8Item, int] | None:
    """Stored labels by evidence key as item scores. A label that is missing or outside 0..3 invalidates all eight.

    >>> ground_truth({"PHQ8_Sleep": 4}) is None
    True
    """
    items: dict[PHQ8Item, Any] = {item: (labels or {}).get(item.evidence_key) for item in PHQ8Item}
    is_valid = all(type(score) is int and score in ITEM_SCORES for score in items.values())
    return items if is_valid else None


def item_errors(scores: Mapping[PHQ8Item, int | None] | None, truth: Mapping[PHQ8Item, int] | None) -> list[int]:
    """|score - truth| of the items that have both."""
    if scores is None or truth is None:
        return []
    return [abs(score - truth[item]) for item, score in scores.items() if score is not None]


class JobScores(Value):
    """The item scores of one participant in one mode, beside the truth."""

    run_id: int
    job_id: int
    data_set: str | None = None
    """That of the participant."""
    participant_id: int
    mode: AssessmentMode
    status: JobStatus
    scores: Annotated[dict[PHQ8Item, _Score | None], Field(min_length=8)] | None = Field(repr=False)
    """All eight; None for an item is N/A: the model abstained. None for all: stage `score` is not done."""
    labels: dict[str, Any] | None = Field(repr=False, exclude=True)
    """The item labels that are stored now, by evidence key; None without any."""

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @cached_property
    def truth(self) -> dict[PHQ8Item, int] | None:
        """All eight; None without valid labels."""
        return ground_truth(self.labels)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def totals(self) -> tuple[int, int] | None:
        """The bounds of the sum of the items: N/A counted as 0, and as 3."""
        if self.scores is None:
            return None
        low, high = (sum(open_ if score is None else score for score in self.scores.values()) for open_ in (0, 3))
        return low, high

    @computed_field  # type: ignore[prop-decorator]
    @property
    def mae(self) -> float | None:
        """Over the items with a score; None without one or without ground truth."""
        errors = item_errors(self.scores, self.truth)
        return fmean(errors) if errors else None


class ExperimentStatus(StrEnum):
    """The state of one mode of a run."""

    SUCCEEDED = "succeeded"
    """Every job succeeded."""
    UNFINISHED = "unfinished"
    """A job is waiting, running or paused."""
    FAILED = "failed"
    """Finished, and a job did not succeed."""


class Draw(Value):
    """One mode of a run among those of the same work in other draws."""

    run_id: str
    draw: int
    mode: AssessmentMode
    evaluated: int
    item_mae_weighted: float | None
    prediction_coverage: float | None


class ModeDraws(Value):
    """The draws of one mode."""

    mode: AssessmentMode
    draws: tuple[Draw, ...]
    """Ascending by draw; the run of the report is one of them."""
    item_mae_weighted: dict[str, float | None]
    """`mean` and `std` over the draws that have it; the latter of a sample (ddof 1), None with fewer than two."""
    prediction_coverage: dict[str, float | None]


class ModeSummary(Value):
    """One mode over all participants of the run."""

    mode: AssessmentMode
    status: ExperimentStatus
    participants: int
    scored: int
    """Participants with scores; each of the others is in some state before that, or failed."""
    compared: int
    """Of these, with ground truth and at least one item that has a score."""
    mae: float | None
    """Over all items with a score and ground truth: `item_mae_weighted` of the report."""
    coverage: float | None
    """These items / all items of the compared participants: `prediction_coverage` of the report."""
    compared_items: int
    """Those items."""
    na_items: int
    """Items of scored participants that the model gave no score."""
    median_mae: float | None
    """The MAE of the median of the training split, over the compared items; None where its labels are not stored."""
    modal_mae: float | None
    """The same of the most frequent score there."""


class ScoreTable(Value):
    """A participant run."""

    run_id: int
    modes: tuple[ModeSummary, ...]
    """Few-shot first."""
    scores: tuple[JobScores, ...] = Field(repr=False)
    """Ascending by participant, few-shot first."""

    @property
    def by_participant(self) -> dict[int, list[JobScores]]:
        """The modes that each was submitted in."""
        return {number: [*of_one] for number, of_one in groupby(self.scores, key=lambda one: one.participant_id)}
