"""Presets, one of them the default, and versions of templates, one of each active."""

import asyncio

import pytest

from schemas.errors import Refused, TemplateError, TemplateMissingError
from schemas.settings.preset import ORIGINAL, Preset
from stages.queries.templates import TemplateTag, default_template
from store.database import Connection, Database
from store.questions import presets
from store.questions.presets import seed
from tests.refusals import refused

SMALL = {"retrieval.top_n_final": 3}


async def test_a_new_database_has_two_presets_whose_names_are_taken_in_every_case(connection: Connection) -> None:
    stored, original = await presets.get(connection), await presets.get(connection, "original")

    assert (stored.name, stored.is_default, stored.preset) == ("Balanced", True, Preset())
    assert (original.is_default, original.preset.values()) == (False, Preset().values() | ORIGINAL)
    with refused("preset-exists", "There is a preset 'bALANCED' already"):
        await presets.create(connection, "bALANCED", SMALL)


async def test_changing_values_keeps_the_others_and_a_refused_change_all(connection: Connection) -> None:
    await presets.create(connection, "small", SMALL, description="few chunks")

    stored = await presets.change(connection, "Small", {"retrieval.dense_limit": "25"})
    with pytest.raises(Refused, match=r"retrieval\.dense_limit is '101'"):
        await presets.change(connection, "small", {"retrieval.dense_limit": "101", "retrieval.rrf_k": "60"})

    assert stored == await presets.get(connection, "small")
    assert stored.preset == Preset().changed(SMALL | {"retrieval.dense_limit": 25}, origin="test")
    assert stored.description == "few chunks"
    assert stored.updated_at > stored.created_at


async def test_default_stands_for_the_default_preset_and_is_no_name(connection: Connection) -> None:
    await presets.create(connection, "small", SMALL)
    await presets.change(connection, "small", is_default=True)

    changed = await presets.change(connection, "DEFAULT", {"retrieval.rrf_k": 60}, is_default=True)
    assert (changed.name, changed.is_default, changed.preset.retrieval.rrf_k) == ("small", True, 60)
    assert await presets.get(connection, " Default ") == changed
    with refused("preset-is-default"):
        await presets.delete(connection, "default")
    with pytest.raises(Refused, match="stands for"):
        await presets.create(connection, "Default", SMALL)


async def test_no_default_and_no_active_template_are_errors_and_never_a_built_in(connection: Connection) -> None:
    await connection.execute("UPDATE rag_config SET is_default = false")
    await connection.execute("UPDATE prompt_templates SET is_active = false")

    with refused("preset-missing", match="No preset is the default"):
        await presets.get(connection)
    with pytest.raises(TemplateMissingError, match="No template of chunk_validation is active"):
        await presets.template(connection, TAG)


async def test_many_who_set_the_default_at_once_leave_one(database: Database) -> None:
    for number in range(8):
        await database.once(presets.create, f"p{number}", SMALL)
    await asyncio.gather(*(database.once(presets.change, f"p{number}", is_default=True) for number in range(8)))

    stored = await database.once(presets.list_all)
    assert [preset.is_default for preset in stored] == [True] + [False] * 9


TAG = TemplateTag.CHUNK_VALIDATION
TEXT = 'Is {chunk} about {query}? Say {{"decision": "accept"}}.'


async def versions(connection: Connection) -> list[tuple[int, bool]]:
    return [(stored.version, stored.is_active) for stored in await presets.all_templates(connection, TAG)]


async def test_a_new_database_has_version_1_of_every_template_active(connection: Connection) -> None:
    for tag in list(TemplateTag):
        stored = await presets.template(connection, tag)

        assert (stored.version, stored.template_content, stored.is_active) == (1, default_template(tag), True)


async def test_a_new_version_is_the_next_one_once_and_active_when_that_is_asked_for(connection: Connection) -> None:
    added = await presets.add_template(connection, TAG, TEXT, title="Short")

    assert (added.version, added.title, added.template_content, added.is_active) == (2, "Short", TEXT, False)
    assert await presets.template(connection, TAG, 2) == added
    assert await presets.add_template(connection, TAG, TEXT, title="Short") == added
    assert await versions(connection) == [(1, True), (2, False)]
    await presets.activate_template(connection, TAG, 2)
    assert await versions(connection) == [(1, False), (2, True)]
    assert (await presets.template(connection, TAG)).template_content == TEXT
    assert (await presets.template(connection, TemplateTag.QUERY_EXPANSION)).version == 1
    assert (await presets.add_template(connection, TAG, TEXT, title="Another")).version == 3

    # Seeding again changes nothing.
    await presets.change(connection, "Balanced", {"retrieval.rrf_k": 60})
    await presets.delete(connection, "Original")
    await seed(connection)
    (stored,) = await presets.list_all(connection)
    assert (stored.name, stored.preset.retrieval.rrf_k) == ("Balanced", 60)
    assert await versions(connection) == [(1, False), (2, True), (3, False)]


async def test_placeholders_are_checked_when_a_version_is_saved(connection: Connection) -> None:
    with pytest.raises(TemplateError, match=r"\{chunk\} is missing"):
        await presets.add_template(connection, TAG, "{query}", title="Broken")

    assert await versions(connection) == [(1, True)]
