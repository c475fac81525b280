"""OLLAMA_*: how an Ollama server is asked. Where it listens is a connection and stands in process.py."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from schemas.settings.base import SettingsGroup


class OllamaSettings(SettingsGroup):
    """How a language model server is asked."""

    model_config = SettingsConfigDict(env_prefix="OLLAMA_")

    timeout_seconds: int = Field(default=600, ge=10)
    """Seconds that one chat call may take."""
