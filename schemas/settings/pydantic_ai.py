"""PYDANTIC_AI_*: re-asks for scores that cannot be used, named after the framework of the original system."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Le

from schemas.settings.base import SettingsGroup


@dataclass(frozen=True, kw_only=True, slots=True)
class PydanticAISettings(SettingsGroup):
    """Re-asks for scores that cannot be used."""

    prefix: ClassVar = "PYDANTIC_AI_"

    retries: Annotated[int, Ge(0), Le(10)] = 5
    """Times the model is sent the error in its scores and asked again, before the job fails."""
    timeout_seconds: Annotated[float, Ge(0.0)] = 0.0
    """Seconds that one scoring call may take; 0 takes OLLAMA_TIMEOUT_SECONDS."""
