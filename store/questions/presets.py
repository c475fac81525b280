"""Presets: named, one of them the default, which is also called `default`."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from schemas.errors import DefaultPresetError, PresetExistsError, Refused
from schemas.settings.preset import DEFAULT_ALIAS, Preset, by_name, preset_name, preset_of
from schemas.suggestions import did_you_mean
from schemas.values.base import Value
from store.database import Connection

COLUMNS = "id, preset_name AS name, is_default, description, config AS preset, created_at, updated_at"

LIST = f"SELECT {COLUMNS} FROM rag_config ORDER BY is_default DESC, lower(preset_name)"

NAMES = "SELECT preset_name FROM rag_config ORDER BY is_default DESC, lower(preset_name)"

NAMED = f"(lower(preset_name) = lower($1) OR is_default AND lower($1) = '{DEFAULT_ALIAS}')"

BY_NAME = f"SELECT {COLUMNS} FROM rag_config WHERE {NAMED}"

# The first preset of all becomes the default.
CREATE = f"""
INSERT INTO rag_config (preset_name, is_default, description, config)
SELECT $1, NOT EXISTS (SELECT FROM rag_config), $2, $3::jsonb
ON CONFLICT (lower(preset_name)) DO NOTHING
RETURNING {COLUMNS}
"""

UPDATE = f"""
UPDATE rag_config SET config = $2, description = $3, updated_at = now() WHERE lower(preset_name) = lower($1)
RETURNING {COLUMNS}
"""

# Changes of the list of presets, or of the default, take turns; readers are not blocked.
ALONE = "LOCK TABLE rag_config IN SHARE ROW EXCLUSIVE MODE"

NO_DEFAULT = "UPDATE rag_config SET is_default = false, updated_at = now() WHERE is_default"

SET_DEFAULT = "UPDATE rag_config SET is_default = true, updated_at = now() WHERE preset_name = $1"

FIND = f"SELECT preset_name, is_default FROM rag_config WHERE {NAMED}"

DELETE = "DELETE FROM rag_config WHERE preset_name = $1"


class StoredPreset(Value):
    """A preset with every value."""

    id: int = Field(examples=[1])
    name: str = Field(serialization_alias="preset_name", examples=["Balanced"])
    is_default: bool
    description: str | None = Field(examples=["Few chunks, read closely"])
    preset: Preset = Field(serialization_alias="config")
    created_at: datetime
    updated_at: datetime

    def is_called(self, name: str) -> bool:
        """Whether this is its name, or its alias, in any case of letters."""
        return name.strip().lower() in ({self.name.lower(), DEFAULT_ALIAS} if self.is_default else {self.name.lower()})


async def list_all(connection: Connection) -> list[StoredPreset]:
    """Every preset: the default first, then by name."""
    return [_stored(row) for row in await connection.fetch(LIST)]


async def names(connection: Connection) -> list[str]:
    """The name of every preset: the default first, then by name. Their values are not read."""
    return [row["preset_name"] for row in await connection.fetch(NAMES)]


async def get(connection: Connection, name: str | None = None) -> StoredPreset:
    """The preset of a name, in any case of letters; the default one without a name, or by its alias.

    Raises Refused when there is none: nothing takes its place.
    """
    wanted = DEFAULT_ALIAS if name is None else name
    row = await connection.fetchrow(BY_NAME, wanted.strip())
    if row is None:
        raise await _missing(connection, wanted)
    return _stored(row)


async def create(connection: Connection, name: str, preset: Preset, *, description: str | None = None) -> StoredPreset:
    """Store a new preset. Raises PresetExistsError for a name that is taken in any case of letters."""
    name = preset_name(name)
    async with connection.transaction():
        await connection.execute(ALONE)
        row = await connection.fetchrow(CREATE, name, description, json.dumps(preset.model_dump()))
    if row is None:
        raise PresetExistsError(f"There is a preset {name!r} already; `ragq preset set` changes it.")
    return _stored(row)


async def change(
    connection: Connection, name: str, values: dict[str, Any], *, origin: str, description: str | None = None
) -> StoredPreset:
    """Change values of a preset, and its description where one is given; the others stay.

    Runs that were submitted keep the values they were submitted with. Raises Refused, and PresetValueError
    with every problem that the values have; `origin` names where they come from.
    """
    async with connection.transaction():
        row = await connection.fetchrow(f"{BY_NAME} FOR UPDATE", name.strip())
        if row is None:
            raise await _missing(connection, name)
        stored = _stored(row)
        changed = stored.preset.changed(values, origin=origin)
        words = stored.description if description is None else description
        return _stored(await connection.fetchrow(UPDATE, stored.name, json.dumps(changed.model_dump()), words))


async def set_default(connection: Connection, name: str) -> str:
    """Make a preset the only default. Its name as it is stored. Raises Refused, and changes nothing then."""
    async with connection.transaction():
        await connection.execute(ALONE)
        stored: str | None = await connection.fetchval(FIND, name.strip())
        if stored is None:
            raise await _missing(connection, name)
        await connection.execute(NO_DEFAULT)
        await connection.execute(SET_DEFAULT, stored)
    return stored


async def delete(connection: Connection, name: str) -> str:
    """Delete a preset, readable or not. Its name as it was stored.

    Raises Refused, and DefaultPresetError for the default.
    """
    async with connection.transaction():
        await connection.execute(ALONE)
        row = await connection.fetchrow(FIND, name.strip())
        if row is None:
            raise await _missing(connection, name)
        stored: str = row["preset_name"]
        if row["is_default"]:
            raise DefaultPresetError(
                f"Preset {stored!r} is the default; make another one the default before you delete it."
            )
        await connection.execute(DELETE, stored)
    return stored


def preset_missing(name: str | None, known: Sequence[str] = ()) -> Refused:
    """No preset of `known` has this name, or, without a name, none is the default."""
    words = (
        "No preset is the default; `ragq preset set NAME --default` makes one."
        if name is None
        else f"There is no preset {name!r}; `ragq preset list` shows those there are.{did_you_mean(name, known)}"
    )
    return Refused(words, slug="preset-missing")


async def _missing(connection: Connection, name: str) -> Refused:
    if name.strip().lower() == DEFAULT_ALIAS:
        return preset_missing(None)
    return preset_missing(name.strip(), await names(connection))


def _stored(row: Any) -> StoredPreset:
    values = by_name(row["preset"])
    return StoredPreset(**{**row, "preset": preset_of(values, origin=f"stored in preset {row['name']}")})


ALL = "SELECT name, value FROM chosen_setting"

KEEP = """
INSERT INTO chosen_setting (name, value) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = now()
"""

FORGET = "DELETE FROM chosen_setting WHERE name = $1"


async def chosen(connection: Connection) -> dict[str, str]:
    """The values by environment name."""
    return {row["name"]: row["value"] for row in await connection.fetch(ALL)}


async def choose(connection: Connection, values: Mapping[str, str]) -> None:
    """Store these values in place of older ones; an empty one removes what was chosen."""
    async with connection.transaction():
        for name, value in values.items():
            await (connection.execute(KEEP, name, value) if value else connection.execute(FORGET, name))
