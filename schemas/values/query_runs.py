"""A run of queries as reports read it: the outputs of each stage, the judgements, and the times."""

from datetime import datetime
from typing import Any

from schemas.statuses import JobStatus
from schemas.values.base import Value
from schemas.values.costs import KeptStage, StageCalls
from schemas.values.queries import ChunkVerdict, RetrievedChunks
from schemas.values.runs import RunOrigin
from schemas.values.scored_runs import AttemptTime, OutputTelemetry, SettingValue


class RankedQuery(Value):
    """One query, by ids only. An output that is not stored or not requested is None."""

    job_id: int
    key: str
    """The id in its file; without one the first 16 digits of the SHA-256 of its text."""
    corpus: str
    embedding_model: str
    status: JobStatus
    judgements: dict[str, int]
    """Relevance by document."""
    retrieved: RetrievedChunks | None
    ranker: str | None
    ranking: tuple[int, ...] | None
    """Chunk ids of all candidates by final score."""
    selected: tuple[int, ...] | None
    """Chunk ids of the selected chunks, in order of selection."""
    validator: str | None
    verdicts: tuple[ChunkVerdict, ...] | None
    """None if validation is disabled."""
    groups: tuple[tuple[int, ...], ...] | None
    """Chunk ids of the consolidated context, group by group."""


class QueryRun(Value):
    """A run of queries with everything that a report needs, read in one snapshot."""

    run_id: int
    profile: str
    version: str
    identity: str
    settings_hash: str
    request: dict[str, Any]
    settings: dict[str, SettingValue]
    submitted_at: datetime
    queries: tuple[RankedQuery, ...]
    """In the order of submission."""
    documents: dict[int, str]
    """The document of a chunk in judgements, by chunk id. A deleted chunk is absent."""
    unknown_documents: int
    """Documents that are judged relevant and match no work of the corpus."""
    failures: dict[str, int]
    """Failed jobs, by the category of the error."""
    attempts: tuple[AttemptTime, ...]
    stage_calls: tuple[StageCalls, ...] = ()
    retried: tuple[KeptStage, ...] = ()
    copied: tuple[KeptStage, ...] = ()
    telemetry: tuple[OutputTelemetry, ...] = ()
    origin: RunOrigin = RunOrigin()
