"""CONSISTENCY_*: scoring by several samples."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from schemas.settings.base import SettingsGroup


class ConsistencySettings(SettingsGroup):
    """Scoring by several samples."""

    model_config = SettingsConfigDict(env_prefix="CONSISTENCY_")

    enabled: bool = False
    """Score each participant several times and use the most frequent answer."""
    n_samples: int = Field(default=5, ge=1, le=20)
    """Usable samples per participant; at most twice as many are requested."""
    temperature: float = Field(default=0.2, ge=0.0, le=2.0)
    """Temperature of the samples."""
