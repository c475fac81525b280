"""OLLAMA_*: calls to an Ollama server. Its address is a connection, in process.py."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge

from schemas.settings.base import SettingsGroup


@dataclass(frozen=True, kw_only=True, slots=True)
class OllamaSettings(SettingsGroup):
    """Calls to a language model server."""

    prefix: ClassVar = "OLLAMA_"

    timeout_seconds: Annotated[int, Ge(10)] = 600
    """Seconds that one chat call may take."""
