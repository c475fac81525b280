"""How well a run of queries found what was judged relevant, stage by stage, in the shape of its JSON.

Everything that depends on when work was done is in `timings`, as in the report of a scored run.
"""

from datetime import datetime
from enum import StrEnum

from schemas.statuses import JobStatus
from schemas.values.base import Value
from schemas.values.differences import SettingDifference
from schemas.values.metrics import Interval
from schemas.values.reports import RunMetadata, StageTimings
from schemas.values.scored_runs import SettingValue


class RankingStage(StrEnum):
    """A ranking of documents on the way of a query."""

    DENSE = "dense"
    """By the vector of the original query."""
    DENSE_ALL = "dense_all"
    """By the best rank over all vectors; only where the query was expanded."""
    LEXICAL = "lexical"
    """By full text, with the original query."""
    LEXICAL_ALL = "lexical_all"
    """By the best rank over all texts; only where the query was expanded."""
    FUSED = "fused"
    RERANKED = "reranked"
    """All candidates by final score, before diversity chose among them."""
    SELECTED = "selected"
    """What went on, in the order in which it was selected."""
    CONSOLIDATED = "consolidated"
    """The groups of the context, best first."""


class RetrievalMeasures(Value):
    """How the numbers of a report are made."""

    cutoff: int = 10
    """Documents that count, from the top."""
    bootstrap_resamples: int = 10_000
    bootstrap_seed: int = 42


class RetrievalProvenance(Value):
    """What the numbers were made with: every name that ran, so more than one where jobs differ."""

    corpora: tuple[str, ...]
    embedding_models: tuple[str, ...]
    lexical: tuple[str, ...]
    fusions: tuple[str, ...]
    rankers: tuple[str, ...]
    validators: tuple[str, ...]


class QueryCounts(Value):
    """Which queries count: submitted = without_judgement + without_relevant + judged."""

    submitted: int
    without_judgement: int
    without_relevant: int
    """Judged, and nothing was judged relevant: there is nothing to find."""
    judged: int
    """With a relevant document at least. Of these are the next three, each once."""
    failed: int
    """Ended with an error. What their stages stored before counts for those stages."""
    unfinished: int
    """Waiting, running, paused or cancelled."""
    chunks_gone: int
    """Retrieved chunks that are no longer stored, so that they cannot be judged. They count for no stage."""
    unknown_documents: int
    """Relevant documents that no work of the corpus is called: they cannot be found, and are missed in each recall."""


class StageQuality(Value):
    """One ranking over the judged queries whose jobs stored it."""

    stage: RankingStage
    queries: int
    missing: int
    """Judged queries whose jobs have not stored it; they are in no mean."""
    mean_documents: float | None
    """How many documents a ranking holds."""
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
    """Whether the validator accepts what is judged relevant. A chunk is relevant when its document is.

    A document without a judgement counts as not relevant, so precision is a lower bound where judgements are sparse.
    """

    queries: int
    asked: int
    accepted: int
    rejected: int
    unsure: int
    relevant: int
    """Asked chunks of relevant documents."""
    precision: Interval
    """Relevant among the accepted."""
    recall: Interval
    """Accepted among the relevant."""


class RetrievalTimings(Value):
    """Everything that another run of the same work would have otherwise."""

    submitted_at: datetime
    finished_at: datetime | None
    stages: dict[str, StageTimings]
    seconds_per_query: dict[str, float]
    """Mean time of one attempt, by stage."""


class RetrievalReport(Value):
    """A run of queries."""

    run_metadata: RunMetadata
    settings: dict[str, SettingValue]
    measures: RetrievalMeasures
    provenance: RetrievalProvenance
    counts: QueryCounts
    stages: tuple[StageQuality, ...]
    """Rankings that no job stored are absent."""
    validator: ValidatorQuality | None
    """None when nothing was validated or nothing is judged."""
    queries: tuple[QueryQuality, ...]
    """The judged ones, in the order of submission."""
    failures: dict[str, int]
    """Failed jobs, by the category of the error."""
    timings: RetrievalTimings


class QueryDelta(Value):
    """How far two runs differ in a measure of a ranking."""

    queries: int
    """Judged queries that have the ranking in both."""
    left: float | None
    right: float | None
    delta: Interval
    """right - left, each resample drawing the same queries for both."""


class QueryChange(Value):
    """A query whose nDCG differs."""

    query: str
    stage: RankingStage
    left: float
    right: float


class RetrievalDifference(Value):
    """Right against left, over the queries that both have; by the id of their file, or else by their text."""

    left: str
    right: str
    common_queries: int
    deltas: dict[RankingStage, dict[str, QueryDelta]]
    """Of the rankings that both have."""
    changes: tuple[QueryChange, ...]
    """In the last of those rankings, the largest change first."""
    unlike_judgements: int
    """Common queries that the two judge otherwise; they are in no delta."""
    settings: dict[str, SettingDifference]
    failed_in_left_only: tuple[str, ...]
    """Queries that the right side got through."""
    failed_in_right_only: tuple[str, ...]
    only_in_left: tuple[str, ...]
    only_in_right: tuple[str, ...]
