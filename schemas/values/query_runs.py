"""A run of queries as reports read it: the outputs of each stage, the judgements, and the times."""

from datetime import datetime
from typing import Any

from schemas.statuses import JobStatus
from schemas.values.base import Value
from schemas.values.queries import ChunkVerdict, RetrievedChunks
from schemas.values.scored_runs import AttemptTime, SettingValue


class RankedQuery(Value):
    """One query, by ids alone. What a stage has not stored, or was not asked to do, is None."""

    job_id: int
    key: str
    """The id that its file gave it; without one the first 16 digits of the SHA-256 of its text."""
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
    """Chunk ids that went on, in order of selection."""
    validator: str | None
    verdicts: tuple[ChunkVerdict, ...] | None
    """None when validation is off."""
    groups: tuple[tuple[int, ...], ...] | None
    """Chunk ids of the consolidated context, group by group."""


class QueryRun(Value):
    """A run of queries with everything that a report needs, all of it read at one moment."""

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
    """What judgements call the work of a chunk, by chunk id. A chunk that is stored no more is absent."""
    unknown_documents: int
    """Documents that are judged relevant and that no work of the corpus is called."""
    failures: dict[str, int]
    """Failed jobs, by the category of the error."""
    attempts: tuple[AttemptTime, ...]
