"""Presets: one of them the default, names in any case of letters."""

import asyncio

import pytest

from schemas.errors import Refused
from schemas.settings.preset import ORIGINAL, Preset, preset_of
from store.database import Connection, Database
from store.migrate import seed
from store.questions import presets
from tests.refusals import refused

SMALL = preset_of({"retrieval.top_n_final": 3}, origin="test")


async def names(connection: Connection) -> list[tuple[str, bool]]:
    return [(stored.name, stored.is_default) for stored in await presets.list_all(connection)]


async def test_a_new_database_has_a_default_preset_and_that_of_the_original(connection: Connection) -> None:
    stored, original = await presets.get(connection), await presets.get(connection, "original")

    assert (stored.name, stored.is_default, stored.preset) == ("Balanced", True, Preset())
    assert (original.is_default, original.preset.values()) == (False, Preset().values() | ORIGINAL)


async def test_a_name_is_taken_in_every_case_of_letters(connection: Connection) -> None:
    with refused("preset-exists", "There is a preset 'bALANCED' already"):
        await presets.create(connection, "bALANCED", SMALL)


async def test_changing_values_keeps_the_others(connection: Connection) -> None:
    await presets.create(connection, "small", SMALL, description="few chunks")

    await presets.change(connection, "Small", {"retrieval.dense_limit": "25"}, origin="option")

    stored = await presets.get(connection, "small")
    assert stored.preset == preset_of({"retrieval.top_n_final": 3, "retrieval.dense_limit": 25}, origin="test")
    assert stored.description == "few chunks"
    assert stored.updated_at > stored.created_at


async def test_a_refused_change_changes_nothing(connection: Connection) -> None:
    with pytest.raises(Refused, match=r"retrieval\.dense_limit is '101'"):
        values = {"retrieval.dense_limit": "101", "retrieval.rrf_k": "60"}
        await presets.change(connection, "Balanced", values, origin="option")

    assert (await presets.get(connection)).preset == Preset()


async def test_default_stands_for_the_default_preset_and_is_no_name(connection: Connection) -> None:
    await presets.create(connection, "small", SMALL)
    await presets.set_default(connection, "small")

    changed = await presets.change(connection, "DEFAULT", {"retrieval.rrf_k": 60}, origin="test")
    assert (changed.name, changed.preset.retrieval.rrf_k) == ("small", 60)
    assert await presets.get(connection, " Default ") == changed
    assert (changed.is_called("default"), (await presets.get(connection, "Original")).is_called("default")) == (
        True,
        False,
    )
    assert await presets.set_default(connection, "default") == "small"
    with refused("preset-is-default"):
        await presets.delete(connection, "default")
    with pytest.raises(Refused, match="stands for"):
        await presets.create(connection, "Default", SMALL)


async def test_no_default_is_an_error_and_never_a_built_in(connection: Connection) -> None:
    await connection.execute("UPDATE rag_config SET is_default = false")

    with refused("preset-missing", match="No preset is the default"):
        await presets.get(connection)


async def test_many_who_set_the_default_at_once_leave_one(database: Database) -> None:
    async with database.connection() as connection:
        for number in range(8):
            await presets.create(connection, f"p{number}", SMALL)

    async def set_default(number: int) -> None:
        async with database.connection() as connection:
            await presets.set_default(connection, f"p{number}")

    await asyncio.gather(*map(set_default, range(8)))

    async with database.connection() as connection:
        assert [is_default for _, is_default in await names(connection)] == [True] + [False] * 9


async def test_seeding_again_changes_nothing(connection: Connection) -> None:
    await presets.change(connection, "Balanced", {"retrieval.rrf_k": 60}, origin="test")
    await presets.delete(connection, "Original")

    await seed(connection)

    (stored,) = await presets.list_all(connection)
    assert (stored.name, stored.preset.retrieval.rrf_k) == ("Balanced", 60)
