"""RAGQ_* settings of a run: what is new in ragq. The process's own RAGQ_* stand in process.py."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from schemas.settings.base import SettingsGroup


class RagqSettings(SettingsGroup):
    """What is new in ragq."""

    model_config = SettingsConfigDict(env_prefix="RAGQ_")

    retrieve_candidates: int = Field(default=50, ge=1, le=1000)
    """Nearest chunks per item that the search hands on to ranking; at least EMBEDDING_TOP_K_REFERENCES."""
    validation_max_chars: int = Field(default=4000, ge=100, le=100_000)
    """Characters of a passage that the judging prompt shows; the rest is cut."""
    deduplicate_references: bool = False
    """Keep only the better of two references that share most of their lines; the next one takes the free place."""
    score_schema: bool = False
    """Have the server hold the scores to a JSON schema; the model then cannot think aloud before it answers."""
    score_text_chars: int = Field(default=0, ge=0)
    """Characters that RAGQ_SCORE_SCHEMA lets each evidence and reason get; 0 sets no bound."""
    retries: int = Field(default=0, ge=0, le=10)
    """Times a stage is tried again by itself after a transport error, and after no other error."""
