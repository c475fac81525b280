"""The pages of presets and of templates."""

import httpx
import pytest

from api.context import ApiContext
from stages.queries.templates import TemplateTag, default_template
from store.database import Connection
from store.questions import presets
from store.questions.presets import StoredPreset, StoredTemplate
from tests.api.pages.html import form, see, send, words


async def stored(ctx: ApiContext, name: str) -> StoredPreset:
    return await ctx.database.once(presets.get, name)


@pytest.fixture
async def small(connection: Connection) -> StoredPreset:
    """A preset that differs from the default one in one value."""
    return await presets.create(connection, "Small", {"augmentation.top_n_contexts": 2}, description="Few sources")


@pytest.fixture
def at(small: StoredPreset) -> str:
    return f"/ui/presets/{small.id}"


async def test_values_are_saved_together_and_each_invalid_one_stays_in_its_field_with_the_reason(
    client: httpx.AsyncClient, ctx: ApiContext, at: str
) -> None:
    shown = await see(client, at)
    wrong = {"retrieval.dense_limit": "500", "retrieval.mmr_lambda": "2"}
    values = {"retrieval.dense_limit": "7", "retrieval.lexical": "websearch", "validation.enabled": "true"}

    refused = await send(client, shown, at, **wrong, **{"consolidation.line_gap": "9"})
    left = (await stored(ctx, "Small")).preset
    saved = await send(client, shown, at, description=" Fewer ", **values)

    assert refused.status_code == 422
    assert "Nothing was saved: 2 values cannot be used." in words(refused)
    assert [name for name in wrong if f'id="wrong-{name}"' not in refused.text] == []
    filled = form(refused, at)
    assert (filled["retrieval.dense_limit"], filled["consolidation.line_gap"]) == ("500", "9")
    assert "allowed is a whole number from 0 to 100" in words(refused)
    assert left.consolidation.line_gap != 9
    small = await stored(ctx, "Small")
    assert (saved.status_code, saved.headers["location"]) == (303, f"{at}?notice=saved")
    assert (small.preset.retrieval.dense_limit, small.preset.retrieval.lexical) == (7, "websearch")
    assert (small.preset.validation.enabled, small.preset.augmentation.top_n_contexts) == (True, 2)
    assert small.description == "Fewer"
    assert "The preset is saved." in words(await see(client, saved.headers["location"]))


async def test_a_preset_that_was_changed_meanwhile_is_not_overwritten_at_once(
    client: httpx.AsyncClient, ctx: ApiContext, at: str
) -> None:
    shown = await see(client, at)
    async with ctx.database.connection() as connection:
        await presets.change(connection, "Small", {"retrieval.dense_limit": 3})

    refused = await send(client, shown, at, **{"retrieval.dense_limit": "8"})
    assert "The preset was changed meanwhile." in words(refused)
    assert (await stored(ctx, "Small")).preset.retrieval.dense_limit == 3

    await send(client, refused, at)
    assert (await stored(ctx, "Small")).preset.retrieval.dense_limit == 8


TAG = TemplateTag.QUERY_EXPANSION
AT = f"/ui/templates/{TAG}"
FIELD = "template_content"
TEXT = "Ask {n} times, in {{braces}}:\n{query}\n"


async def versions(ctx: ApiContext) -> list[StoredTemplate]:
    return await ctx.database.once(presets.all_templates, TAG)


async def test_a_version_starts_from_the_active_one_and_stays_in_its_form_when_it_cannot_be_used(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    await ctx.database.once(presets.add_template, TAG, TEXT, title="Shorter")
    for values, field, message in [
        ({FIELD: "Ask {n} times: {query} {colour}"}, FIELD, "{colour} is unknown; there are {query}, {n}"),
        ({FIELD: "Ask {n} times."}, FIELD, "{query} is missing"),
        ({FIELD: "{query} {n} {"}, FIELD, "braces do not pair"),
        ({"title": " "}, "title", "cannot be empty"),
        ({FIELD: ""}, FIELD, "cannot be empty"),
    ]:
        filled = {"title": "Mine", FIELD: TEXT} | values
        reply = await send(client, await see(client, AT), AT, **filled)

        assert (reply.status_code, message in words(reply), f'id="wrong-{field}"' in reply.text) == (422, True, True)
        assert {name: form(reply, AT)[name] for name in filled} == filled
        assert len(await versions(ctx)) == 2

    shown = await see(client, AT)
    assert form(shown, AT)[FIELD] == default_template(TAG)

    added = await send(client, shown, AT, title=" Once more ", **{FIELD: TEXT.replace("\n", "\r\n") + "Be brief."})
    assert added.headers["location"] == f"{AT}?notice=added#version-3"
    assert [(one.version, one.title, one.is_active) for one in await versions(ctx)][-1] == (3, "Once more", False)
    assert (await versions(ctx))[-1].template_content == TEXT + "Be brief."

    active = await send(client, await see(client, AT), f"{AT}/3/activate")
    assert active.headers["location"] == f"{AT}?notice=active#version-3"
    assert [one.is_active for one in await versions(ctx)] == [False, False, True]
