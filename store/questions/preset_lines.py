"""Presets as their rows have them, whether this version can use their values or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from store.database import Connection

LIST = """
SELECT preset_name AS name, is_default, description, config, created_at, updated_at
FROM rag_config ORDER BY is_default DESC, lower(preset_name)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PresetLine:
    """A preset, with its values by name as they are stored."""

    name: str
    is_default: bool
    description: str | None
    values: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime

    @property
    def origin(self) -> str:
        """Where its values come from, as errors name it."""
        return values_origin(self.name)


async def lines(connection: Connection) -> list[PresetLine]:
    """Every preset: the default first, then by name."""
    return [_line(**row) for row in await connection.fetch(LIST)]


def stored_values(config: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The values of a row under their names, such as `retrieval.dense_limit`."""
    return {f"{group}.{key}": value for group, keys in config.items() for key, value in keys.items()}


def values_origin(name: str) -> str:
    """Where the values of a stored preset come from, as errors name it."""
    return f"stored in preset {name}"


def _line(*, config: Mapping[str, Mapping[str, Any]], **others: Any) -> PresetLine:
    return PresetLine(values=stored_values(config), **others)
