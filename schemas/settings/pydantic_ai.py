"""PYDANTIC_AI_*: asking again for scores that cannot be used. The name is that of the framework of the original."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from schemas.settings.base import SettingsGroup


class PydanticAISettings(SettingsGroup):
    """Asking again for scores that cannot be used."""

    model_config = SettingsConfigDict(env_prefix="PYDANTIC_AI_")

    retries: int = Field(default=5, ge=0, le=10)
    """Times the model is told what is wrong with its scores and asked again, before the job fails."""
