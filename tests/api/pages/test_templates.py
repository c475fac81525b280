"""The pages of templates."""

import httpx
import pytest

from api.context import ApiContext
from stages.queries.templates import TemplateTag
from store.database import Connection
from store.questions import presets
from store.questions.presets import StoredTemplate
from tests.api.pages.html import form, see, send, words

TAG = TemplateTag.QUERY_EXPANSION
AT = f"/templates/{TAG}"
TEXT = "Ask {n} times, in {{braces}}:\n{query}\n"


async def stored(ctx: ApiContext) -> list[StoredTemplate]:
    async with ctx.database.connection() as connection:
        return await presets.all_templates(connection, TAG)


@pytest.fixture
async def two_versions(connection: Connection) -> None:
    """A second version, which is not active."""
    await presets.add_template(connection, TAG, TEXT, title="Shorter")


async def test_a_new_version_starts_from_another_and_is_used_when_it_is_activated(
    client: httpx.AsyncClient, ctx: ApiContext, two_versions: None
) -> None:
    shown = await see(client, AT, of=2)
    assert form(shown, AT)["text"] == TEXT

    added = await send(client, shown, AT, title=" Once more ", text=TEXT.replace("\n", "\r\n") + "Be brief.")
    assert added.headers["location"] == f"{AT}?notice=added#version-3"
    assert [(one.version, one.title, one.is_active) for one in await stored(ctx)][-1] == (3, "Once more", False)
    assert (await stored(ctx))[-1].text == TEXT + "Be brief."

    active = await send(client, await see(client, AT), f"{AT}/3/activate")
    assert active.headers["location"] == f"{AT}?notice=active#version-3"
    assert [one.is_active for one in await stored(ctx)] == [False, False, True]


async def test_what_cannot_be_a_version_stays_in_its_field_with_the_reason(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    for values, field, message in [
        ({"text": "Ask {n} times: {query} {colour}"}, "text", "{colour} is unknown; there are {query}, {n}"),
        ({"text": "Ask {n} times."}, "text", "{query} is missing"),
        ({"text": "{query} {n} {"}, "text", "braces do not pair"),
        ({"title": " "}, "title", "at least 1 character"),
        ({"text": ""}, "text", "at least 1 character"),
    ]:
        filled = {"title": "Mine", "text": TEXT} | values

        reply = await send(client, await see(client, AT), AT, **filled)

        assert reply.status_code == 422
        assert message in words(reply)
        assert f'id="wrong-{field}"' in reply.text
        assert {name: form(reply, AT)[name] for name in filled} == filled
        assert len(await stored(ctx)) == 1
