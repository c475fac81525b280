"""RAGQ_* settings of a run: what is new in ragq. The process's own RAGQ_* stand in process.py."""

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from schemas.settings.base import SettingsGroup, disagreement


class RagqSettings(SettingsGroup):
    """What is new in ragq."""

    model_config = SettingsConfigDict(env_prefix="RAGQ_")

    retrieve_candidates: int = Field(default=50, ge=1, le=1000)
    """Nearest chunks per item that the search hands on to ranking; at least EMBEDDING_TOP_K_REFERENCES."""
    reranker: Literal["similarity", "cross_encoder"] = "similarity"
    """What orders the references: their similarity, or a cross-encoder that reads evidence and reference together."""
    reranker_model: str = ""
    """Folder or hub id of the cross-encoder; needed by RAGQ_RERANKER=cross_encoder."""
    reranker_batch_size: int = Field(default=8, ge=1, le=32)
    """Pairs that go through the cross-encoder at a time."""
    reranker_max_tokens: int = Field(default=512, ge=128, le=1024)
    """Tokens of a pair that the cross-encoder sees; the rest is cut."""
    reranker_timeout_seconds: int = Field(default=300, ge=1)
    """Seconds that the cross-encoder may take for the references of one item."""
    validation_max_chars: int = Field(default=4000, ge=100, le=100_000)
    """Characters of a passage that the judging prompt shows; the rest is cut."""
    deduplicate_references: bool = False
    """Keep only the better of two references that share most of their lines; the next one takes the free place."""
    score_schema: bool = False
    """Have the server hold the scores to a JSON schema; the model then cannot think aloud before it answers."""
    score_text_chars: int = Field(default=0, ge=0)
    """Characters that RAGQ_SCORE_SCHEMA lets each evidence and reason get; 0 sets no bound."""
    token_signals: bool = False
    """Ask for the log-probabilities of the tokens of each scoring reply, and keep what they say about its certainty."""
    query_model: str = ""
    """Language model that expands and answers questions; empty takes MODEL_QUANTITATIVE_MODEL."""
    query_light_model: str = ""
    """Language model for whoever asks for the light one; empty takes the model that answers all others."""
    query_temperature: float = Field(default=0.2, ge=0.0, le=2.0)
    """Sampling temperature of expansions and answers."""
    corpus_batch_chunks: int = Field(default=64, ge=1, le=1024)
    """Chunks of a corpus that are embedded by one job."""
    hnsw_from_chunks: int = Field(default=20_000, ge=1)
    """Searchable chunks from which on a corpus gets an HNSW index; fewer are scanned exactly."""
    query_max_tokens: int = Field(default=0, ge=0)
    """Tokens that an expansion or an answer may have, one that is cut off fails the job; 0 leaves it to the server."""
    retries: int = Field(default=0, ge=0, le=10)
    """Times a stage is tried again by itself after a transport error, and after no other error."""

    @model_validator(mode="after")
    def _a_cross_encoder_has_a_name(self) -> Self:
        if self.reranker == "cross_encoder" and not self.reranker_model:
            raise disagreement(
                "RAGQ_RERANKER=cross_encoder needs a model; set RAGQ_RERANKER_MODEL to a folder or hub id",
                "RAGQ_RERANKER",
                "RAGQ_RERANKER_MODEL",
            )
        return self
