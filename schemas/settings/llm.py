"""LLM_*: the protocol of the language model server."""

from typing import Literal

from pydantic_settings import SettingsConfigDict

from schemas.settings.base import SettingsGroup


class LLMSettings(SettingsGroup):
    """The protocol of the language model server."""

    model_config = SettingsConfigDict(env_prefix="LLM_")

    backend: Literal["ollama", "openai"] = "ollama"
    """Ollama's API, or any server with OpenAI's chat API at RAGQ_OPENAI_BASE_URL."""
