"""MODEL_*: the model of each task."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from schemas.settings.base import SettingsGroup


class ModelSettings(SettingsGroup):
    """The model of each task."""

    model_config = SettingsConfigDict(env_prefix="MODEL_")

    quantitative_model: str = Field(default="gemma3:27b", min_length=1)
    """Language model that extracts evidence and scores the items."""
    judge_model: str = Field(default="gemma3:27b", min_length=1)
    """Language model that judges references when EMBEDDING_VALIDATION_MODEL is empty."""
    embedding_model: str = Field(default="qwen3-embedding:8b", min_length=1)
    """Model that embeds evidence and chunks."""
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    """Sampling temperature of extraction and scoring; references are always judged at 0."""
