"""The retrieval quality of a run of queries, stage by stage, in the structure of its JSON.

All values that depend on time are in `timings`, as in the report of a scored run.
"""

from enum import StrEnum

from pydantic import Field

from schemas.statuses import JobStatus
from schemas.values.base import Value
from schemas.values.differences import RetrievalMeasures
from schemas.values.metrics import Interval
from schemas.values.reports import RunMetadata, RunTimings, StageTelemetry
from schemas.values.runs import SettingValue


class RankingStage(StrEnum):
    """A ranking of documents at a stage of a query."""

    DENSE = "dense"
    """By the vector of the original query."""
    DENSE_ALL = "dense_all"
    """By the best rank over all vectors; only if the query was expanded."""
    LEXICAL = "lexical"
    """By full text, with the original query."""
    LEXICAL_ALL = "lexical_all"
    """By the best rank over all texts; only if the query was expanded."""
    FUSED = "fused"
    RERANKED = "reranked"
    """All candidates by final score, before the selection for diversity."""
    SELECTED = "selected"
    """The selected chunks, in order of selection."""
    CONSOLIDATED = "consolidated"
    """The groups of the context, best first."""


class RetrievalProvenance(Value):
    """The corpora, models and rankers that ran: more than one if jobs differ."""

    corpora: tuple[str, ...]
    embedding_models: tuple[str, ...]
    lexical: tuple[str, ...]
    fusions: tuple[str, ...]
    rankers: tuple[str, ...]
    validators: tuple[str, ...]


class QueryCounts(Value):
    """Counts of queries: submitted = without_judgement + without_relevant + judged."""

    submitted: int
    without_judgement: int
    without_relevant: int
    """Judged, without any relevant document."""
    judged: int
    """With at least one relevant document. The next three are disjoint parts of these."""
    failed: int
    """Ended with an error. Outputs stored before the error count for their stages."""
    unfinished: int
    """Waiting, running, paused or cancelled."""
    chunks_gone: int
    """Retrieved chunks that are no longer stored, so that they cannot be judged. They count for no stage."""
    unknown_documents: int
    """Relevant documents that match no work of the corpus: they cannot be found, and lower each recall."""


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

    queries: int = Field(examples=[12])
    asked: int = Field(examples=[120])
    accepted: int = Field(examples=[50])
    rejected: int = Field(examples=[66])
    unsure: int = Field(examples=[4])
    relevant: int = Field(examples=[48])
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
    provenance: RetrievalProvenance
    counts: QueryCounts
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
