"""Prompt templates: versions are added and never changed, and one of each tag is active."""

from datetime import datetime

from pydantic import Field

from schemas.errors import TemplateMissingError
from schemas.values.base import Value
from stages.queries.templates import TemplateTag, check_template
from store.database import Connection

COLUMNS = "id, function_tag AS tag, version, title, template_content AS text, is_active, created_at, updated_at"

LIST = f"""
SELECT {COLUMNS} FROM prompt_templates WHERE $1::text IS NULL OR function_tag = $1 ORDER BY function_tag, version
"""

GET = f"""
SELECT {COLUMNS} FROM prompt_templates
WHERE function_tag = $1 AND CASE WHEN $2::integer IS NULL THEN is_active ELSE version = $2 END
"""

ADD = f"""
INSERT INTO prompt_templates (function_tag, version, title, template_content, is_active)
SELECT $1::text, coalesce(max(version), 0) + 1, $2, $3, false FROM prompt_templates WHERE function_tag = $1::text
RETURNING {COLUMNS}
"""

NEWEST = f"SELECT {COLUMNS} FROM prompt_templates WHERE function_tag = $1 ORDER BY version DESC LIMIT 1"

# Additions and activations take turns; readers are not blocked.
ALONE = "LOCK TABLE prompt_templates IN SHARE ROW EXCLUSIVE MODE"

DEACTIVATE = "UPDATE prompt_templates SET is_active = false, updated_at = now() WHERE function_tag = $1 AND is_active"

ACTIVATE = f"""
UPDATE prompt_templates SET is_active = true, updated_at = now() WHERE function_tag = $1 AND version = $2
RETURNING {COLUMNS}
"""

RENAME = f"""
UPDATE prompt_templates SET title = $3, updated_at = now() WHERE function_tag = $1 AND version = $2
RETURNING {COLUMNS}
"""

VARIABLES = "SELECT function_tag, variables FROM prompt_meta WHERE $1::text IS NULL OR function_tag = $1"


class StoredTemplate(Value):
    """One version of a template. Its text never changes."""

    id: int = Field(examples=[1])
    tag: str = Field(serialization_alias="function_tag", examples=["query_expansion"])
    version: int = Field(examples=[1])
    title: str = Field(examples=["Query expansion"])
    text: str = Field(serialization_alias="template_content", repr=False)
    is_active: bool
    """New prompts use it."""
    created_at: datetime
    updated_at: datetime
    """When its title changed, or it was activated or replaced."""


async def list_all(connection: Connection, tag: TemplateTag | None = None) -> list[StoredTemplate]:
    """Every version of every template, or of one, by tag and version."""
    return [StoredTemplate(**row) for row in await connection.fetch(LIST, tag)]


async def get(connection: Connection, tag: TemplateTag, version: int | None = None) -> StoredTemplate:
    """A version of a template; without a version the active one.

    Raises TemplateMissingError: nothing takes the place of a template that is not there.
    """
    row = await connection.fetchrow(GET, tag, version)
    if row is None:
        raise template_missing(tag, version)
    return StoredTemplate(**row)


def template_missing(tag: str, version: int | None) -> TemplateMissingError:
    """A version of a template is not stored, or, without a version, none is active."""
    found = f"No template of {tag} is active" if version is None else f"Template {tag} has no version {version}"
    return TemplateMissingError(f"{found}; `ragq template list` shows those there are.")


async def add(connection: Connection, tag: TemplateTag, text: str, *, title: str) -> StoredTemplate:
    """Store the next version, which is not used until it is activated. The newest one, sent again, stays the newest.

    Raises TemplateError for a text that cannot be a template of this tag.
    """
    check_template(tag, text)
    async with connection.transaction():
        await connection.execute(ALONE)
        newest = await connection.fetchrow(NEWEST, tag)
        if newest is not None and (newest["title"], newest["text"]) == (title, text):
            return StoredTemplate(**newest)
        return StoredTemplate(**await connection.fetchrow(ADD, tag, title, text))


async def activate(connection: Connection, tag: TemplateTag, version: int) -> StoredTemplate:
    """Make a version the active one of its tag. Raises TemplateMissingError, and changes nothing then."""
    async with connection.transaction():
        await connection.execute(ALONE)
        await connection.execute(DEACTIVATE, tag)
        row = await connection.fetchrow(ACTIVATE, tag, version)
        if row is None:
            raise template_missing(tag, version)
    return StoredTemplate(**row)


async def rename(connection: Connection, tag: TemplateTag, version: int, title: str) -> StoredTemplate:
    """Change the title of a version. Raises TemplateMissingError."""
    row = await connection.fetchrow(RENAME, tag, version, title)
    if row is None:
        raise template_missing(tag, version)
    return StoredTemplate(**row)


async def change(
    connection: Connection, tag: TemplateTag, version: int, *, title: str | None, text: str | None
) -> StoredTemplate:
    """Give a version another title, or store another text as the next version: active if this one was, under this
    one's title unless another is given. None leaves it as it is.

    Raises TemplateMissingError, and TemplateError for a text that cannot be a template of this tag.
    """
    async with connection.transaction():
        stored = await get(connection, tag, version)
        if text not in (None, stored.text):
            added = await add(connection, tag, text, title=title or stored.title)
            return await activate(connection, tag, added.version) if stored.is_active else added
        return stored if title is None else await rename(connection, tag, version, title)


async def variables(connection: Connection, tag: TemplateTag) -> dict[str, str]:
    """The description of each placeholder of a tag, by name."""
    return (await variables_by_tag(connection, tag)).get(tag, {})


async def variables_by_tag(connection: Connection, tag: TemplateTag | None = None) -> dict[str, dict[str, str]]:
    """The same for every tag, or for one."""
    return {
        row["function_tag"]: {
            variable["variable_name"]: variable["variable_description"] for variable in row["variables"]
        }
        for row in await connection.fetch(VARIABLES, tag)
    }
