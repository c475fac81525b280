"""The reports of runs of participants and of queries, in the structure of their JSON.

All values that depend on time are in `timings`: two reports of the same work differ only there.
"""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from schemas.statuses import JobStatus
from schemas.values.base import Value
from schemas.values.costs import RunCost, Spent
from schemas.values.differences import Measures, RetrievalMeasures
from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.runs import FailureCounts, IndexIdentity, RunOrigin, SettingValue
from schemas.values.scoring import (
    BinaryMetrics,
    InferenceType,
    Interval,
    ModeDraws,
    NAReason,
    ReliabilityBin,
    RiskCoveragePoint,
    ScoreBasis,
    TotalMetrics,
    Totals,
)


class RunMetadata(Value):
    """The identity of the run."""

    run_id: str
    profile: str
    profile_source: str | None
    ragq_version: str
    identity: str
    """SHA-256 over kind, settings and inputs: the same work has the same identity."""
    settings_hash: str
    notices: tuple[str, ...]
    """Caveats about the results."""
    draw: int = 0
    """The draw of the run: with another number, `--fresh` or `--samples` asked for answers of its own."""
    origin: RunOrigin = RunOrigin()
    """Versions, commits, hardware, models and servers."""


class Provenance(Value):
    """What a mode was made of. `settings` of the report has every setting."""

    mode: AssessmentMode
    data_set: str | None
    """Whose participants they are."""
    split: str | None
    limit: int | None
    evidence: str | None
    """`given` when the quotes were part of the submission."""
    transcript_variants: dict[str, int] = Field(default_factory=dict)
    """Variant -> number of transcripts; empty for runs of versions that did not record it."""
    quantitative_model: str | None
    quantitative_model_digests: tuple[str, ...]
    """Weights that scored; more than one when the model was replaced during the run."""
    embedding_model: str | None
    embedding_model_digests: tuple[str, ...]
    embedding_dtypes: tuple[str, ...]
    """The number formats of these weights, where they are known."""
    llm_backend: str | None
    embedding_backend: str | None
    reference_indexes: tuple[IndexIdentity, ...]
    """One; empty in zero-shot."""
    rankers: tuple[str, ...]
    """The rankers: `similarity`, or `cross_encoder` and its model; empty in zero-shot."""
    participants_requested: int
    participants_evaluated: int
    consistency_enabled: bool
    consistency_n_samples: int | None
    consistency_temperature: float | None


class ItemSignals(Value):
    """The signals of the score of one item. Without a sample, a token or a reference the signal is None."""

    na_reason: NAReason | None
    basis: ScoreBasis | None
    """None for the score of a language model, and for an N/A."""
    evidence_source: str | None
    llm_evidence_count: int
    retrieval_reference_count: int
    retrieval_similarity_mean: float | None
    retrieval_similarity_max: float | None
    verbalized_confidence: int | None
    token_msp: float | None = None
    token_pe: float | None = None
    token_energy: float | None = None
    consistency_samples: tuple[int | None, ...] | None = None
    consistency_modal_score: int | None = None
    consistency_modal_count: int | None = None
    consistency_modal_confidence: float | None = None
    consistency_score_std: float | None = None
    consistency_na_rate: float | None = None
    inference_used: bool
    inference_type: InferenceType | None


class SubjectResult(Value):
    """One participant. Without scores all values are None."""

    participant_id: int
    success: bool
    status: JobStatus
    error: str | None
    """The message of the error that the job ended with."""
    error_category: str | None
    totals: Totals | None
    available_items: int | None
    na_items: int | None
    mae_available: float | None
    """Over the scored items; None without one or without ground truth."""
    ground_truth_total: int | None
    ground_truth_items: dict[PHQ8Item, int] | None
    predicted_items: dict[PHQ8Item, int | None] | None
    item_signals: dict[PHQ8Item, ItemSignals] | None
    reasks: int | None
    repairs: int | None


class ItemResult(Value):
    """One item over the evaluated participants, with the interval of its MAE."""

    mae: float | None
    count: int
    """Participants with a score for the item."""
    coverage: float | None
    """count / (count + na_count)"""
    na_count: int
    mae_interval: Interval
    medians: int = 0
    """Scores that are the median of the index, because there was no evidence to compare."""


class Results(Value):
    """The results of a mode.

    total = successful + failed + unfinished, and successful = evaluated + excluded_no_evidence +
    excluded_no_ground_truth. Only participants with ground truth count in any metric.
    """

    mode: AssessmentMode
    model: str | None
    total_subjects: int
    successful_subjects: int
    failed_subjects: int
    unfinished_subjects: int
    """Waiting, running, paused or cancelled."""
    excluded_no_evidence: int
    """Scored, with ground truth, and without any item that has a score."""
    excluded_no_ground_truth: int
    """Scored, without item labels to compare with."""
    evaluated_subjects: int
    item_mae_weighted: float | None
    item_mae_by_item: float | None
    item_mae_by_subject: float | None
    prediction_coverage: float | None
    intervals: dict[str, Interval]
    """Of these four, of Cmax, and of the totals and binary metrics."""
    per_item: dict[PHQ8Item, ItemResult]
    total_metrics: TotalMetrics
    binary_metrics: BinaryMetrics
    results: tuple[SubjectResult, ...]
    """Ascending by participant."""


class RiskAtCoverage(Value):
    """The selective risk of the first step that reaches a coverage; no value beyond Cmax."""

    reached: float | None
    """The coverage of that step."""
    risk: Interval


class ChosenConfidence(Value):
    """All measures of the requested confidence."""

    confidence: str
    aurc: Interval
    aurc_optimal: Interval
    aurc_achievable: Interval
    excess_aurc: Interval
    aurc_truncated: Interval
    augrc: Interval
    augrc_optimal: Interval
    excess_augrc: Interval
    augrc_truncated: Interval
    risk_at_coverage: dict[str, RiskAtCoverage]
    """By coverage."""
    curve: tuple[RiskCoveragePoint, ...]


class SelectivePrediction(Value):
    """How the error decreases when only the most confident scores are included (Spec 25)."""

    population: int
    """All items of all successful participants with ground truth."""
    predicted: int
    """Those with a score."""
    cmax: Interval
    signals: dict[str, int]
    """The number of scored items that have each signal; each confidence defines a value for the others."""
    chosen: ChosenConfidence
    by_confidence: dict[str, dict[str, Interval]]
    """`aurc` and `augrc` of each: how well it separates good scores from bad ones."""
    unavailable: dict[str, str]
    """Confidences that cannot be computed for this run, and the reasons."""


class Calibration(Value):
    """The calibration of a confidence in 0..1."""

    confidence: str
    bins: tuple[ReliabilityBin, ...]


class CalibratedConfidence(Value):
    """A confidence that was calibrated on the scores of another run, of other participants."""

    confidence: str
    method: str
    fitted_on: str
    split: str | None
    """Of the run that it was fitted on."""
    participants: int
    items: int
    """Scores that it was fitted on."""
    parameters: dict[str, float]
    before: dict[str, float] | None
    """How far the confidence was from the scores of this report that are exact, 0 being best: the expected calibration
    error over ten bins (`ece`), the Brier score (`brier`) and `log_loss`. None if it was no probability."""
    after: dict[str, float] | None
    """None without a score."""


class ReferenceCounts(Value):
    """The references of one item, summed over participants: retrieved = sum of dropped + shown."""

    untagged: int
    """Chunks of the index that the tag filter left out of the search."""
    retrieved: int
    """Chunks that the search returned."""
    dropped: dict[str, int]
    """By filter, in order: `threshold`, `duplicate`, `top_k`, `budget`, and what follows them.

    `rejected` were not accepted by the model that validates, `validation_limit` not judged because enough were
    accepted, `unscored` have no score to show, and `context` had no room in the context of the model that scores.
    """
    shown: int
    """Entries in the prompts."""


class StageTelemetry(Value):
    """How the outputs of a stage were obtained. A category that never occurred is absent."""

    outputs: int
    repairs: dict[str, int]
    """Repairs that parsing the used replies needed, by name."""
    reasks: dict[str, int]
    """Replies that the model was asked for again, by reason."""
    cut_texts: int | None
    """Texts that the embedder cut; None for a stage that does not embed."""


class Baseline(Value):
    """Scores that take nothing from a transcript, over the items that the mode scored."""

    item_mae_weighted: Interval
    per_item: dict[PHQ8Item, Interval]
    """The MAE of each item."""
    difference: Interval
    """item_mae_weighted of the mode less that of the baseline, each resample with the same participants for both."""


class Baselines(Value):
    """What a mode has to be better than."""

    split: str
    """The training split whose labels they are of."""
    participants: int
    """Of that split, with labels."""
    median: Baseline
    """Always the median of the item there."""
    mode: Baseline
    """Always the most frequent score of the item there."""


class Experiment(Value):
    """One mode of a run."""

    provenance: Provenance
    results: Results
    baselines: Baselines | None
    """None for a run that was submitted without a training split whose labels are stored."""
    selective_prediction: SelectivePrediction
    calibration: Calibration | None
    """None if no score has a confidence in 0..1."""
    calibrated: CalibratedConfidence | None
    """How the chosen confidence was calibrated; None if it was not."""
    references: dict[PHQ8Item, ReferenceCounts]
    """Over the jobs whose references are validated; empty in zero-shot."""
    telemetry: dict[str, StageTelemetry]
    """By stage, in the order of the chain: the stages that parse replies or embed texts."""


class ModeTimings(Value):
    """The time and the calls of a mode."""

    total_duration_seconds: float | None
    """From the first start to the last end, including concurrent work of other modes; None before the end."""
    spent: Spent


class RunTimings(Value):
    """All values that may differ in another run of the same work. An attempt that still runs does not count."""

    submitted_at: datetime
    started_at: datetime | None
    """The start of the first attempt."""
    finished_at: datetime | None
    modes: dict[AssessmentMode, ModeTimings]
    """Empty for questions."""
    cost: RunCost


class Report(Value):
    """A scored run."""

    run_metadata: RunMetadata
    settings: dict[str, SettingValue]
    measures: Measures
    experiments: tuple[Experiment, ...]
    """One per mode, zero-shot first."""
    failures: FailureCounts
    """Of unresolved failures."""
    draws: tuple[ModeDraws, ...]
    """The runs of the same work in other draws, with the spread of the main figures; empty without any."""
    timings: RunTimings


class RankingStage(StrEnum):
    """A ranking of documents at a stage of a query."""

    DENSE = "dense"
    """By the vector of the original query."""
    LEXICAL = "lexical"
    """By full text, with the original query."""
    FUSED = "fused"
    RERANKED = "reranked"
    """All candidates by final score, before the selection for diversity."""
    SELECTED = "selected"
    """The selected chunks, in order of selection."""
    CONSOLIDATED = "consolidated"
    """The groups of the context, best first."""


class StageQuality(Value):
    """One ranking over the judged queries whose jobs stored it."""

    stage: RankingStage
    queries: int
    missing: int
    """Judged queries whose jobs have not stored it; they are in no mean."""
    mean_documents: float | None
    """The number of documents of a ranking."""
    measures: dict[str, Interval]
    """By name, as in `ndcg@10`: the mean over queries."""


class QueryQuality(Value):
    """One judged query."""

    query: str
    job: str
    status: JobStatus
    relevant: int
    stages: dict[RankingStage, dict[str, float]]
    """Measures by ranking; rankings that its job has not stored are absent."""


class ValidatorQuality(Value):
    """Whether the validator accepts relevant chunks. A chunk is relevant if its document is.

    A document without a judgement counts as not relevant, so precision is a lower bound where judgements are sparse.
    """

    queries: int
    asked: int
    accepted: int
    rejected: int
    unsure: int
    relevant: int
    """Judged chunks of relevant documents."""
    precision: Interval
    """Relevant among the accepted."""
    recall: Interval
    """Accepted among the relevant."""


class RetrievalReport(Value):
    """A run of queries."""

    run_metadata: RunMetadata
    settings: dict[str, SettingValue]
    measures: RetrievalMeasures
    provenance: dict[str, tuple[str, ...]]
    """The corpora, models and methods that ran: more than one if jobs differ."""
    counts: dict[str, int]
    """`submitted` = `without_judgement` + `without_relevant` (judged, and nothing is relevant) + `judged`. Of these
    `failed` ended with an error (outputs stored before it count), `unfinished` are waiting, running, paused or
    cancelled, and `chunks_gone` have retrieved chunks that are no longer stored, and count for no stage.
    `unknown_documents` are relevant and match no work of the corpus: they cannot be found, and lower each recall."""
    stages: tuple[StageQuality, ...]
    """Rankings that no job stored are absent."""
    validator: ValidatorQuality | None
    """None if nothing was validated or nothing is judged."""
    queries: tuple[QueryQuality, ...]
    """The judged ones, in the order of submission."""
    failures: dict[str, int]
    """Failed jobs, by the category of the error."""
    telemetry: dict[str, StageTelemetry]
    """By stage, in the order of the chain: the stages that parse replies or embed texts."""
    timings: RunTimings
