"""Presets: one of them the default, names in any case of letters."""

import asyncio
import json

import pytest

from schemas.errors import DefaultPresetError, PresetExistsError, Refused
from schemas.settings.preset import ORIGINAL, Preset, preset_of
from store.database import Connection, Database
from store.questions import presets
from store.seeds import seed
from tests.refusals import refused

SMALL = preset_of({"retrieval.top_n_final": 3}, origin="test")


async def names(connection: Connection) -> list[tuple[str, bool]]:
    return [(stored.name, stored.is_default) for stored in await presets.list_all(connection)]


async def test_a_new_database_has_a_default_preset_with_the_defaults(database: Database) -> None:
    async with database.connection() as connection:
        stored = await presets.default(connection)

    assert (stored.name, stored.is_default, stored.preset) == ("Balanced", True, Preset())


async def test_a_new_database_has_the_preset_of_the_original(database: Database) -> None:
    async with database.connection() as connection:
        stored = await presets.get(connection, "original")

    assert (stored.is_default, stored.preset.values()) == (False, Preset().values() | ORIGINAL)


async def test_presets_are_listed_by_name_behind_the_default(database: Database) -> None:
    async with database.connection() as connection:
        for name in ("zebra", "Apple", "middle"):
            await presets.create(connection, name, SMALL)
        await presets.set_default(connection, "MIDDLE")

        listed = await names(connection)
        assert listed == [("middle", True), *((name, False) for name in ("Apple", "Balanced", "Original", "zebra"))]
        assert await presets.names(connection) == [name for name, _ in listed]


async def test_a_preset_is_found_in_any_case_with_all_its_values(database: Database) -> None:
    async with database.connection() as connection:
        created = await presets.create(connection, "  Small One ", SMALL, description="few chunks")

        assert await presets.get(connection, "small ONE") == created
        assert (created.name, created.preset, created.description) == ("Small One", SMALL, "few chunks")


async def test_a_name_is_taken_in_every_case_of_letters(database: Database) -> None:
    async with database.connection() as connection:
        with pytest.raises(PresetExistsError, match="There is a preset 'bALANCED' already"):
            await presets.create(connection, "bALANCED", SMALL)


async def test_a_name_that_breaks_the_rules_is_not_stored(database: Database) -> None:
    async with database.connection() as connection:
        with pytest.raises(Refused, match="1 to 100 characters"):
            await presets.create(connection, "a/b", SMALL)

        assert await names(connection) == [("Balanced", True), ("Original", False)]


async def test_changing_values_keeps_the_others(database: Database) -> None:
    async with database.connection() as connection:
        await presets.create(connection, "small", SMALL, description="few chunks")

        await presets.change(connection, "Small", {"retrieval.dense_limit": "25"}, origin="option")

        stored = await presets.get(connection, "small")
        assert stored.preset == preset_of({"retrieval.top_n_final": 3, "retrieval.dense_limit": 25}, origin="test")
        assert stored.description == "few chunks"
        assert stored.updated_at > stored.created_at


async def test_a_refused_change_changes_nothing(database: Database) -> None:
    async with database.connection() as connection:
        with pytest.raises(Refused, match=r"retrieval\.dense_limit is '101'"):
            values = {"retrieval.dense_limit": "101", "retrieval.rrf_k": "60"}
            await presets.change(connection, "Balanced", values, origin="option")

        assert (await presets.default(connection)).preset == Preset()


async def test_an_unknown_preset_is_named(database: Database) -> None:
    async with database.connection() as connection:
        for asked in (
            presets.get(connection, "gone"),
            presets.change(connection, "gone", {}, origin="option"),
            presets.set_default(connection, "gone"),
            presets.delete(connection, "gone"),
        ):
            with refused("preset-missing", match="There is no preset 'gone'"):
                await asked

        assert (await presets.default(connection)).name == "Balanced"


async def test_default_stands_for_the_default_preset_and_is_no_name(database: Database) -> None:
    async with database.connection() as connection:
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
        with pytest.raises(DefaultPresetError):
            await presets.delete(connection, "default")
        with pytest.raises(Refused, match="stands for"):
            await presets.create(connection, "Default", SMALL)


async def test_the_default_cannot_be_deleted(database: Database) -> None:
    async with database.connection() as connection:
        with pytest.raises(DefaultPresetError, match="Preset 'Balanced' is the default"):
            await presets.delete(connection, "balanced")


async def test_a_preset_that_is_no_longer_the_default_can_be_deleted(database: Database) -> None:
    async with database.connection() as connection:
        await presets.create(connection, "small", SMALL)
        await presets.set_default(connection, "small")

        await presets.delete(connection, "balanced")

        assert await names(connection) == [("small", True), ("Original", False)]


async def test_no_default_is_an_error_and_never_a_built_in(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute("UPDATE rag_config SET is_default = false")

        with refused("preset-missing", match="No preset is the default"):
            await presets.default(connection)
        with refused("preset-missing", match="No preset is the default"):
            await presets.get(connection, "default")


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


async def test_a_stored_preset_that_cannot_be_read_is_named_and_can_be_deleted(database: Database) -> None:
    async with database.connection() as connection:
        await presets.create(connection, "odd", SMALL)
        config = json.dumps({"retrieval": {"rrf_k": 0}})
        await connection.execute("UPDATE rag_config SET config = $1 WHERE preset_name = 'odd'", config)

        with pytest.raises(Refused, match=r"rrf_k is 0 \(stored in preset odd\)"):
            await presets.get(connection, "odd")
        assert await presets.delete(connection, "odd") == "odd"


async def test_seeding_again_changes_nothing(database: Database) -> None:
    async with database.connection() as connection:
        await presets.change(connection, "Balanced", {"retrieval.rrf_k": 60}, origin="test")
        await presets.delete(connection, "Original")

        await seed(connection)

        (stored,) = await presets.list_all(connection)
        assert (stored.name, stored.preset.retrieval.rrf_k) == ("Balanced", 60)
