"""Prompt templates: versions, one of them active."""

import pytest

from schemas.errors import TemplateError, TemplateMissingError
from stages.queries.templates import RULES, TemplateTag, default_template
from store.database import Connection
from store.migrate import seed
from store.questions import presets

TAG = TemplateTag.CHUNK_VALIDATION
TEXT = 'Is {chunk} about {query}? Say {{"decision": "accept"}}.'


async def versions(connection: Connection) -> list[tuple[int, bool]]:
    return [
        (stored.version, stored.is_active) for stored in await presets.all_templates(connection) if stored.tag == TAG
    ]


async def test_a_new_database_has_version_1_of_every_template_active(connection: Connection) -> None:
    for tag in list(TemplateTag):
        stored = await presets.template(connection, tag)

        assert (stored.version, stored.text, stored.is_active) == (1, default_template(tag), True)
        assert await presets.variables(connection, tag) == dict(RULES[tag].variables)


async def test_a_new_version_is_the_next_one_and_not_active(connection: Connection) -> None:
    added = await presets.add_template(connection, TAG, TEXT, title="Short")

    assert (added.version, added.title, added.text, added.is_active) == (2, "Short", TEXT, False)
    assert await versions(connection) == [(1, True), (2, False)]
    assert await presets.template(connection, TAG, 2) == added


async def test_the_newest_version_sent_twice_is_stored_once(connection: Connection) -> None:
    added = await presets.add_template(connection, TAG, TEXT, title="Short")

    assert await presets.add_template(connection, TAG, TEXT, title="Short") == added
    assert (await presets.add_template(connection, TAG, TEXT, title="Another")).version == 3


async def test_activating_a_version_retires_the_one_before(connection: Connection) -> None:
    await presets.add_template(connection, TAG, TEXT, title="Short")

    await presets.activate_template(connection, TAG, 2)

    assert await versions(connection) == [(1, False), (2, True)]
    assert (await presets.template(connection, TAG)).text == TEXT
    assert (await presets.template(connection, TemplateTag.QUERY_EXPANSION)).version == 1


async def test_placeholders_are_checked_when_a_version_is_saved(connection: Connection) -> None:
    with pytest.raises(TemplateError, match=r"\{chunk\} is missing"):
        await presets.add_template(connection, TAG, "{query}", title="Broken")

    assert await versions(connection) == [(1, True)]


async def test_no_active_template_is_an_error_and_never_a_built_in(connection: Connection) -> None:
    await connection.execute("UPDATE prompt_templates SET is_active = false")

    with pytest.raises(TemplateMissingError, match="No template of chunk_validation is active"):
        await presets.template(connection, TAG)


async def test_seeding_again_keeps_the_active_version(connection: Connection) -> None:
    await presets.add_template(connection, TAG, TEXT, title="Short")
    await presets.activate_template(connection, TAG, 2)

    await seed(connection)

    assert await versions(connection) == [(1, False), (2, True)]
