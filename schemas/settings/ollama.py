"""OLLAMA_*: calls to an Ollama server. Its address is a connection, in process.py."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from schemas.settings.base import SettingsGroup


class OllamaSettings(SettingsGroup):
    """Calls to a language model server."""

    model_config = SettingsConfigDict(env_prefix="OLLAMA_")

    timeout_seconds: int = Field(default=600, ge=10)
    """Seconds that one chat call may take."""
