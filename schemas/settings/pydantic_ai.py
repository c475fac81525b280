"""PYDANTIC_AI_*: re-asks for scores that cannot be used, named after the framework of the original system."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from schemas.settings.base import SettingsGroup


class PydanticAISettings(SettingsGroup):
    """Re-asks for scores that cannot be used."""

    model_config = SettingsConfigDict(env_prefix="PYDANTIC_AI_")

    retries: int = Field(default=5, ge=0, le=10)
    """Times the model is sent the error in its scores and asked again, before the job fails."""
    timeout_seconds: float = Field(default=0.0, ge=0.0)
    """Seconds that one scoring call may take; 0 takes OLLAMA_TIMEOUT_SECONDS."""
