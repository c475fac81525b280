"""The groups of the settings of a run, and every setting by its name."""

from typing import Final

from schemas.settings.base import Setting, SettingsGroup, settings_of
from schemas.settings.consistency import ConsistencySettings
from schemas.settings.embedding import EmbeddingSettings
from schemas.settings.evaluation import EvaluationSettings
from schemas.settings.llm import LLMSettings
from schemas.settings.model import ModelSettings
from schemas.settings.ollama import OllamaSettings
from schemas.settings.psq import PsqSettings
from schemas.settings.pydantic_ai import PydanticAISettings
from schemas.settings.quantitative import QuantitativeSettings
from schemas.settings.ragq import RagqSettings

RUN_GROUPS: Final[dict[str, type[SettingsGroup]]] = {
    "embedding": EmbeddingSettings,
    "model": ModelSettings,
    "llm": LLMSettings,
    "ollama": OllamaSettings,
    "quantitative": QuantitativeSettings,
    "consistency": ConsistencySettings,
    "pydantic_ai": PydanticAISettings,
    "evaluation": EvaluationSettings,
    "psq": PsqSettings,
    "ragq": RagqSettings,
}
"""The groups under their names in RunSettings."""

RUN_SETTINGS: Final[dict[str, Setting]] = {
    setting.name: setting for group in RUN_GROUPS.values() for setting in settings_of(group)
}
"""Every setting of a run under its environment name."""
