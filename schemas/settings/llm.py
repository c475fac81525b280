"""LLM_*: the protocol of the language model server."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from schemas.settings.base import SettingsGroup


@dataclass(frozen=True, kw_only=True, slots=True)
class LLMSettings(SettingsGroup):
    """The protocol of the language model server."""

    prefix: ClassVar = "LLM_"

    backend: Literal["ollama", "openai"] = "ollama"
    """Ollama's API, or any server with OpenAI's chat API at RAGQ_OPENAI_BASE_URL."""
