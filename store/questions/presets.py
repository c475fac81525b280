"""Presets, one of which is the default; and versions of prompt templates, which are added and never changed."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from pydantic import Field, computed_field

from schemas.errors import Refused, TemplateMissingError
from schemas.settings.preset import DEFAULT_ALIAS, ORIGINAL, Preset, by_name, preset_name
from schemas.suggestions import did_you_mean
from schemas.values.base import Value
from stages.queries.templates import RULES, TemplateTag, check_template, default_template
from store import rows
from store.database import Connection

NO_VALUES: Final[Mapping[str, Any]] = MappingProxyType({})

COLUMNS = "id, preset_name AS name, is_default, description, config AS preset, created_at, updated_at"

LIST = f"SELECT {COLUMNS} FROM rag_config ORDER BY is_default DESC, lower(preset_name)"

BY_NAME = f"""
SELECT {COLUMNS} FROM rag_config
WHERE lower(preset_name) = lower($1) OR is_default AND lower($1) = '{DEFAULT_ALIAS}'
"""

# The first preset of all becomes the default.
CREATE = f"""
INSERT INTO rag_config (preset_name, is_default, description, config)
SELECT $1, NOT EXISTS (SELECT FROM rag_config), $2, $3::jsonb
ON CONFLICT (lower(preset_name)) DO NOTHING
RETURNING {COLUMNS}
"""

# Changes of presets take turns; readers are not blocked.
ALONE = "LOCK TABLE rag_config IN SHARE ROW EXCLUSIVE MODE"


class StoredPreset(Value):
    """A preset with every value."""

    id: int = Field(examples=[1])
    name: str = Field(serialization_alias="preset_name", examples=["Balanced"])
    is_default: bool
    description: str | None = Field(examples=["Few chunks, read closely"])
    preset: Preset = Field(serialization_alias="config")
    created_at: datetime
    updated_at: datetime


async def list_all(connection: Connection) -> list[StoredPreset]:
    """Every preset: the default first, then by name."""
    return [_stored(row) for row in await connection.fetch(LIST)]


async def names(connection: Connection) -> list[str]:
    """The name of every preset: the default first, then by name. Their values are not read."""
    return await rows.values(connection, "rag_config", "preset_name", order="is_default DESC, lower(preset_name)")


async def get(connection: Connection, name: str | None = None) -> StoredPreset:
    """The preset of a name, in any case of letters; the default one without a name, or by its alias. Raises Refused."""
    return _stored(await _row(connection, name))


async def create(
    connection: Connection,
    name: str,
    values: Mapping[str, Any] = NO_VALUES,
    *,
    of: str | None = None,
    description: str | None = None,
) -> StoredPreset:
    """Store a copy of a preset, of the default one unless it is named, with other values. Raises Refused for a name
    that is taken in any case of letters, and PresetValueError with every problem that the values have."""
    preset = (await get(connection, of)).preset.changed(values, origin="request")
    name = preset_name(name)
    async with connection.transaction():
        await connection.execute(ALONE)
        row = await connection.fetchrow(CREATE, name, description, preset.model_dump_json())
    if row is None:
        raise Refused(f"There is a preset {name!r} already; `ragq preset set` changes it.", slug="preset-exists")
    return _stored(row)


async def change(
    connection: Connection,
    name: str,
    values: Mapping[str, Any] = NO_VALUES,
    *,
    description: str | None = None,
    is_default: bool = False,
) -> StoredPreset:
    """Change values of a preset, its description where one is given, or make it the only default; the rest stays. Runs
    that were submitted keep the values they were submitted with. Raises Refused, and PresetValueError with every
    problem that the values have. Nothing is changed then."""
    async with connection.transaction():
        await connection.execute(ALONE)
        stored = _stored(await _row(connection, name))
        changes: dict[str, Any] = {"config": stored.preset.changed(values, origin="request").model_dump()}
        if description is not None:
            changes["description"] = description
        if is_default and not stored.is_default:
            changes["is_default"] = True
            await rows.update(connection, "rag_config", {"is_default": True}, is_default=False, updated_at=rows.NOW)
        await rows.update(connection, "rag_config", {"id": stored.id}, **changes, updated_at=rows.NOW)
        return await get(connection, stored.name)


async def delete(connection: Connection, name: str) -> str:
    """Delete a preset, readable or not. Its name as it was stored. Raises Refused, for the default too."""
    async with connection.transaction():
        await connection.execute(ALONE)
        row = await _row(connection, name)
        stored: str = row["name"]
        if row["is_default"]:
            raise Refused(
                f"Preset {stored!r} is the default; make another one the default before you delete it.",
                slug="preset-is-default",
            )
        await rows.delete(connection, "rag_config", id=row["id"])
    return stored


def preset_missing(name: str | None, known: Sequence[str] = ()) -> Refused:
    """No preset of `known` has this name, or, without a name, none is the default."""
    words = (
        "No preset is the default; `ragq preset set NAME --default` makes one."
        if name is None
        else f"There is no preset {name!r}; `ragq preset list` shows those there are.{did_you_mean(name, known)}"
    )
    return Refused(words, slug="preset-missing")


async def _row(connection: Connection, name: str | None) -> Mapping[str, Any]:
    wanted = DEFAULT_ALIAS if name is None else name.strip()
    row: Mapping[str, Any] | None = await connection.fetchrow(BY_NAME, wanted)
    if row is None:
        is_alias = wanted.lower() == DEFAULT_ALIAS
        raise preset_missing(None) if is_alias else preset_missing(wanted, await names(connection))
    return row


def _stored(row: Mapping[str, Any]) -> StoredPreset:
    values = by_name(row["preset"])
    return StoredPreset(**{**row, "preset": Preset().changed(values, origin=f"stored in preset {row['name']}")})


async def chosen(connection: Connection) -> dict[str, str]:
    """The values by environment name."""
    return await rows.pairs(connection, "chosen_setting", "name", "value")


async def choose(connection: Connection, values: Mapping[str, str]) -> None:
    """Store these values in place of older ones; an empty one removes what was chosen."""
    async with connection.transaction():
        for name, value in values.items():
            if value:
                await rows.put(connection, "chosen_setting", {"name": name}, value=value, updated_at=rows.NOW)
            else:
                await rows.delete(connection, "chosen_setting", name=name)


TEMPLATES: Final = "prompt_templates"

# Additions and activations take turns; readers are not blocked.
ALONE_TEMPLATES = "LOCK TABLE prompt_templates IN SHARE ROW EXCLUSIVE MODE"


class StoredTemplate(Value):
    """One version of a template. Its text never changes."""

    id: int = Field(examples=[1])
    function_tag: str = Field(examples=["query_expansion"])
    version: int = Field(examples=[1])
    title: str = Field(examples=["Query expansion"])
    template_content: str = Field(repr=False)
    is_active: bool
    """New prompts use it."""
    created_at: datetime
    updated_at: datetime
    """When its title changed, or it was activated or replaced."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def variables(self) -> list[dict[str, str]]:
        """The placeholders that it may have."""
        return variables_of(self.function_tag)


def variables_of(tag: str) -> list[dict[str, str]]:
    """The placeholders that a template may have, in the form of the original."""
    variables = RULES[TemplateTag(tag)].variables.items()
    return [{"variable_name": name, "variable_description": words} for name, words in variables]


async def all_templates(connection: Connection, tag: TemplateTag | None = None) -> list[StoredTemplate]:
    """Every version of every template, or of one, by tag and version."""
    where = {} if tag is None else {"function_tag": tag}
    return await rows.find(connection, StoredTemplate, TEMPLATES, order="function_tag, version", **where)


async def template(connection: Connection, tag: TemplateTag, version: int | None = None) -> StoredTemplate:
    """A version of a template; without a version the active one. Raises TemplateMissingError."""
    which = {"is_active": True} if version is None else {"version": version}
    found = await rows.get(connection, StoredTemplate, TEMPLATES, function_tag=tag, **which)
    if found is None:
        raise template_missing(tag, version)
    return found


def template_missing(tag: str, version: int | None) -> TemplateMissingError:
    """A version of a template is not stored, or, without a version, none is active."""
    found = f"No template of {tag} is active" if version is None else f"Template {tag} has no version {version}"
    return TemplateMissingError(f"{found}; `ragq template list` shows those there are.")


async def add_template(connection: Connection, tag: TemplateTag, text: str, *, title: str) -> StoredTemplate:
    """Store the next version, which is not used until it is activated. The newest one, sent again, stays the newest.
    Raises TemplateError for a text that cannot be a template of this tag."""
    check_template(tag, text)
    async with connection.transaction():
        await connection.execute(ALONE_TEMPLATES)
        *_, newest = [None, *await all_templates(connection, tag)]
        if newest is not None and (newest.title, newest.template_content) == (title, text):
            return newest
        version = 1 if newest is None else newest.version + 1
        new = {"function_tag": tag, "version": version, "title": title, "template_content": text, "is_active": False}
        await rows.insert(connection, TEMPLATES, **new)
        return await template(connection, tag, version)


async def activate_template(connection: Connection, tag: TemplateTag, version: int) -> StoredTemplate:
    """Make a version the active one of its tag. Raises TemplateMissingError, and changes nothing then."""
    async with connection.transaction():
        await connection.execute(ALONE_TEMPLATES)
        active = {"function_tag": tag, "is_active": True}
        await rows.update(connection, TEMPLATES, active, is_active=False, updated_at=rows.NOW)
        return await _changed(connection, tag, version, is_active=True)


async def change_template(
    connection: Connection, tag: TemplateTag, version: int, *, title: str | None, text: str | None
) -> StoredTemplate:
    """Give a version another title, or store another text as the next version, active if this one was. None leaves it
    as it is. Raises TemplateMissingError, and TemplateError for a text that cannot be a template of this tag."""
    async with connection.transaction():
        stored = await template(connection, tag, version)
        if text not in (None, stored.template_content):
            added = await add_template(connection, tag, text, title=title or stored.title)
            return await activate_template(connection, tag, added.version) if stored.is_active else added
        return stored if title is None else await _changed(connection, tag, version, title=title)


async def _changed(connection: Connection, tag: TemplateTag, version: int, **changes: Any) -> StoredTemplate:
    which = {"function_tag": tag, "version": version}
    await rows.update(connection, TEMPLATES, which, **changes, updated_at=rows.NOW)
    return await template(connection, tag, version)


PRESETS: Final = {
    "Balanced": ("Works of every length; found by measuring", Preset()),
    "Original": ("The original pipeline to the letter", Preset().changed(ORIGINAL, origin="preset Original")),
}
"""What each is for, and its values. The first becomes the default preset."""

SEEDED_TABLES: Final = ("rag_config", "prompt_templates", "prompt_meta")

FIRST_VERSION = """
INSERT INTO prompt_templates (function_tag, version, title, template_content, is_active)
SELECT $1::text, 1, $2, $3, true WHERE NOT EXISTS (SELECT FROM prompt_templates WHERE function_tag = $1::text)
ON CONFLICT DO NOTHING
"""

VARIABLES = """
INSERT INTO prompt_meta AS m (function_tag, variables) VALUES ($1, $2)
ON CONFLICT (function_tag) DO UPDATE SET variables = excluded.variables, updated_at = now()
WHERE m.variables IS DISTINCT FROM excluded.variables
"""


async def seed(connection: Connection) -> None:
    """Store the presets where there is none at all, and version 1 of each template that has no version. What is there
    is left alone, so that running it again changes nothing; only the descriptions of the placeholders follow the
    code."""
    if not await names(connection):
        for name, (description, preset) in PRESETS.items():
            await connection.execute(CREATE, name, description, preset.model_dump_json())
    for tag, rules in RULES.items():
        await connection.execute(FIRST_VERSION, tag, rules.title, default_template(tag))
        await connection.execute(VARIABLES, tag, json.dumps(variables_of(tag)))
