"""MODEL_*: the model of each task."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Le, MinLen

from schemas.settings.base import SettingsGroup


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSettings(SettingsGroup):
    """The model of each task."""

    prefix: ClassVar = "MODEL_"

    quantitative_model: Annotated[str, MinLen(1)] = "gemma3:27b"
    """Language model that extracts evidence and scores the items."""
    judge_model: Annotated[str, MinLen(1)] = "gemma3:27b"
    """Language model that judges references when EMBEDDING_VALIDATION_MODEL is empty."""
    embedding_model: Annotated[str, MinLen(1)] = "qwen3-embedding:8b"
    """Model that embeds evidence and chunks."""
    temperature: Annotated[float, Ge(0.0), Le(2.0)] = 0.0
    """Sampling temperature of extraction and scoring; references are always judged at 0."""
