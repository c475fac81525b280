"""The tables, one file per area. Importing this package registers all of them on SQLModel's metadata."""

from schemas.tables.api import ApiSession, ApiToken, ChangeListener, IdempotencyKey
from schemas.tables.corpora import ChunkTerm, ChunkTokenVectors, ChunkVector, Corpus, StoredChunk, StoredWork
from schemas.tables.interviews import Participant, Split, SplitMember
from schemas.tables.ledger import LLMCall, LLMCallUse
from schemas.tables.presets import PromptMeta, PromptTemplate, RagConfig
from schemas.tables.queries import Judgement, Query, QueryResult
from schemas.tables.references import ReferenceChunk, ReferenceIndex, ReferenceParticipant, ReferenceVector
from schemas.tables.runs import Job, Run
from schemas.tables.stages import StageAttempt, StageRun, StageVector
from schemas.tables.vocabularies import (
    Tag,
    TagAlias,
    TagContext,
    TagDocument,
    TagVector,
    Vocabulary,
    VocabularyModel,
)
from schemas.tables.workers import Worker

__all__ = [
    "ApiSession",
    "ApiToken",
    "ChangeListener",
    "ChunkTerm",
    "ChunkTokenVectors",
    "ChunkVector",
    "Corpus",
    "IdempotencyKey",
    "Job",
    "Judgement",
    "LLMCall",
    "LLMCallUse",
    "Participant",
    "PromptMeta",
    "PromptTemplate",
    "Query",
    "QueryResult",
    "RagConfig",
    "ReferenceChunk",
    "ReferenceIndex",
    "ReferenceParticipant",
    "ReferenceVector",
    "Run",
    "Split",
    "SplitMember",
    "StageAttempt",
    "StageRun",
    "StageVector",
    "StoredChunk",
    "StoredWork",
    "Tag",
    "TagAlias",
    "TagContext",
    "TagDocument",
    "TagVector",
    "Vocabulary",
    "VocabularyModel",
    "Worker",
]
