"""The pages of presets."""

import httpx
import pytest

from api.context import ApiContext
from schemas.settings.preset_groups import PRESET_SETTINGS
from store.questions import presets
from store.questions.presets import StoredPreset
from tests.api.pages.html import HTML, form, see, send, words


async def stored(ctx: ApiContext, name: str) -> StoredPreset:
    async with ctx.database.connection() as connection:
        return await presets.get(connection, name)


@pytest.fixture
async def small(ctx: ApiContext) -> StoredPreset:
    """A preset that differs from the default one in one value."""
    async with ctx.database.connection() as connection:
        base = (await presets.default(connection)).preset
        changed = base.changed({"augmentation.top_n_contexts": 2}, origin="test")
        return await presets.create(connection, "Small", changed, description="Few sources")


@pytest.fixture
def at(small: StoredPreset) -> str:
    """Its address."""
    return f"/presets/{small.id}"


async def test_the_default_preset_is_shown_with_every_value_and_its_range(
    client: httpx.AsyncClient, small: StoredPreset
) -> None:
    shown = await see(client, "/presets")

    assert {part.partition('"')[0] for part in shown.text.split('name="')[1:]} >= PRESET_SETTINGS.keys()
    assert 'aria-current="page"><span aria-hidden="true">★</span>' in shown.text
    assert 'min="0" max="1" step="any"' in shown.text
    assert "A whole number from 1 to 20" in words(shown)


async def test_a_preset_is_found_by_its_name(client: httpx.AsyncClient, at: str) -> None:
    found = await client.get("/presets", params={"name": "small"}, headers=HTML)
    default = await client.get("/presets", params={"name": "default"}, headers=HTML)

    assert (found.status_code, found.headers["location"]) == (303, at)
    assert (default.status_code, default.headers["location"]) == (303, "/presets/1")
    assert "There is no preset “none” any more" in words(await see(client, "/presets", name="none"))
    assert (await see(client, "/presets/999")).status_code == 404


async def test_values_are_saved_together(client: httpx.AsyncClient, ctx: ApiContext, at: str) -> None:
    values = {"retrieval.dense_limit": "7", "retrieval.lexical": "websearch", "validation.enabled": "true"}

    saved = await send(client, await see(client, at), at, description=" Fewer ", **values)

    small = await stored(ctx, "Small")
    assert (saved.status_code, saved.headers["location"]) == (303, f"{at}?notice=saved")
    assert (small.preset.retrieval.dense_limit, small.preset.retrieval.lexical) == (7, "websearch")
    assert (small.preset.validation.enabled, small.preset.augmentation.top_n_contexts) == (True, 2)
    assert small.description == "Fewer"
    assert "The preset is saved." in words(await see(client, saved.headers["location"]))


async def test_a_form_without_changes_changes_nothing(client: httpx.AsyncClient, ctx: ApiContext, at: str) -> None:
    before = await stored(ctx, "Small")

    saved = await send(client, await see(client, at), at)

    assert saved.headers["location"] == f"{at}?notice=same"
    assert await stored(ctx, "Small") == before


async def test_every_invalid_value_stays_in_its_field_with_the_reason(
    client: httpx.AsyncClient, ctx: ApiContext, at: str
) -> None:
    wrong = {"retrieval.dense_limit": "500", "retrieval.mmr_lambda": "2"}

    reply = await send(client, await see(client, at), at, **wrong, **{"consolidation.line_gap": "9"})

    assert reply.status_code == 422
    assert "Nothing was saved: 2 values cannot be used." in words(reply)
    for name in wrong:
        assert f'id="wrong-{name}"' in reply.text
    filled = form(reply, at)
    assert (filled["retrieval.dense_limit"], filled["consolidation.line_gap"]) == ("500", "9")
    assert "allowed is a whole number from 0 to 100" in words(reply)
    assert (await stored(ctx, "Small")).preset.consolidation.line_gap != 9


async def test_values_that_conflict_are_named_beside_the_first(client: httpx.AsyncClient, at: str) -> None:
    conflict = {"retrieval.top_k_rrf": "5", "retrieval.top_n_final": "17"}

    reply = await send(client, await see(client, at), at, **conflict)

    assert 'id="wrong-retrieval.top_k_rrf">retrieval.top_k_rrf=5 is less than retrieval.top_n_final=17' in reply.text


async def test_a_preset_that_was_changed_meanwhile_is_not_overwritten_at_once(
    client: httpx.AsyncClient, ctx: ApiContext, at: str
) -> None:
    shown = await see(client, at)
    async with ctx.database.connection() as connection:
        await presets.change(connection, "Small", {"retrieval.dense_limit": 3}, origin="test")

    refused = await send(client, shown, at, **{"retrieval.dense_limit": "8"})
    assert "The preset was changed meanwhile." in words(refused)
    assert (await stored(ctx, "Small")).preset.retrieval.dense_limit == 3

    await send(client, refused, at)
    assert (await stored(ctx, "Small")).preset.retrieval.dense_limit == 8


async def test_differences_from_the_default_and_the_original_are_marked(
    client: httpx.AsyncClient, ctx: ApiContext, at: str
) -> None:
    async with ctx.database.connection() as connection:
        base = (await presets.get(connection, "Small")).preset
        await connection.execute("DELETE FROM rag_config WHERE lower(preset_name) = 'original'")
        original = base.changed({"retrieval.rrf_k": 33, "retrieval.fusion": "rrf"}, origin="test")
        await presets.create(connection, "Original", original)
        default = await presets.default(connection)

    shown = await see(client, at)

    assert f"1 value differs from {default.name} , the default" in words(shown)
    assert "2 values differ from Original" in words(shown)
    assert '<span class="of">Original</span> 33' in shown.text
    assert f'<span class="of">{default.name}</span> {default.preset.augmentation.top_n_contexts}' in shown.text
    assert shown.text.count('class="setting differs') == 1


async def test_a_preset_becomes_the_default_and_cannot_be_deleted_then(
    client: httpx.AsyncClient, ctx: ApiContext, at: str
) -> None:
    shown = await see(client, at)
    await send(client, shown, f"{at}/default")
    kept = await send(client, shown, f"{at}/delete")

    assert (await stored(ctx, "Small")).is_default
    assert kept.status_code == 422
    assert f"{at}/delete" not in (await see(client, at)).text


async def test_a_preset_is_duplicated_and_deleted(client: httpx.AsyncClient, ctx: ApiContext, at: str) -> None:
    shown = await see(client, at)
    taken = await send(client, shown, f"{at}/duplicate", name="small")
    unfit = await send(client, shown, f"{at}/duplicate", name="a/b")
    made = await send(client, shown, f"{at}/duplicate", name="Smaller")

    copy = await stored(ctx, "Smaller")
    assert (taken.status_code, unfit.status_code) == (422, 422)
    assert 'id="wrong-name"' in taken.text
    assert made.headers["location"] == f"/presets/{copy.id}?notice=created"
    assert (copy.preset, copy.is_default) == ((await stored(ctx, "Small")).preset, False)

    gone = await send(client, shown, f"{at}/delete")
    assert gone.headers["location"] == "/presets?notice=deleted"
    assert (await see(client, at)).status_code == 404


async def test_a_database_without_presets_names_the_command_that_stores_them(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    async with ctx.database.connection() as connection:
        await connection.execute("DELETE FROM rag_config")

    assert "ragq migrate" in words(await see(client, "/presets"))
