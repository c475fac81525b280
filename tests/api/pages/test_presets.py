"""The pages of presets."""

import httpx
import pytest

from api.context import ApiContext
from store.database import Connection
from store.questions import presets
from store.questions.presets import StoredPreset
from tests.api.pages.html import form, see, send, words


async def stored(ctx: ApiContext, name: str) -> StoredPreset:
    async with ctx.database.connection() as connection:
        return await presets.get(connection, name)


@pytest.fixture
async def small(connection: Connection) -> StoredPreset:
    """A preset that differs from the default one in one value."""
    return await presets.create(connection, "Small", {"augmentation.top_n_contexts": 2}, description="Few sources")


@pytest.fixture
def at(small: StoredPreset) -> str:
    """Its address."""
    return f"/presets/{small.id}"


async def test_values_are_saved_together(client: httpx.AsyncClient, ctx: ApiContext, at: str) -> None:
    values = {"retrieval.dense_limit": "7", "retrieval.lexical": "websearch", "validation.enabled": "true"}

    saved = await send(client, await see(client, at), at, description=" Fewer ", **values)

    small = await stored(ctx, "Small")
    assert (saved.status_code, saved.headers["location"]) == (303, f"{at}?notice=saved")
    assert (small.preset.retrieval.dense_limit, small.preset.retrieval.lexical) == (7, "websearch")
    assert (small.preset.validation.enabled, small.preset.augmentation.top_n_contexts) == (True, 2)
    assert small.description == "Fewer"
    assert "The preset is saved." in words(await see(client, saved.headers["location"]))


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
