"""A new question."""

import httpx
import pytest

from api.context import ApiContext
from store.database import Connection
from store.questions import queries
from tests.api.pages.html import see, send, words
from tests.services.questions.questions import chain, store_small_corpus


@pytest.fixture(autouse=True)
async def corpus(connection: Connection) -> None:
    await store_small_corpus(connection)


async def test_a_question_is_asked_and_its_page_opens(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    works = {"title": " A work ", "author": " "}
    for until, stages in (("", 8), ("expand", 1)):
        shown = await see(client, "/rag/new")

        reply = await send(client, shown, "/rag/new", question=" Why is tea dark? ", until=until, **works)

        line, *_ = await ctx.database.once(queries.lines)
        assert (reply.status_code, reply.headers["location"]) == (303, f"/rag/{line.id}")
        assert (line.original_query, line.works.given) == ("Why is tea dark?", {"title": "A work"})
        async with ctx.database.connection() as connection:
            assert len(await chain(connection, line.job_id)) == stages


async def test_the_same_form_sent_twice_asks_once_and_a_changed_one_again(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    shown = await see(client, "/rag/new")

    first = await send(client, shown, "/rag/new", question="Why?")
    again = await send(client, shown, "/rag/new", question="Why?")
    other = await send(client, shown, "/rag/new", question="How?")

    assert first.headers["location"] == again.headers["location"] != other.headers["location"]
    assert len(await ctx.database.once(queries.lines)) == 2


async def test_an_invalid_form_shows_its_errors_and_keeps_the_input(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    for values, message in [
        ({"question": "  "}, "The question is blank"),
        ({"question": "x" * 2001}, "has 2001 characters"),
        ({"question": "Why?", "expansion": "paste", "reply": "I <cannot>"}, "cannot be used"),
        ({"question": "Why?", "corpora": "nowhere"}, "nowhere"),
        ({"question": "Why?", "year_from": "2001", "year_to": "1999"}, "No year is from 2001 to 1999."),
        ({"question": "Why?", "config_preset": "nobody"}, "nobody"),
        ({"question": "Why?", "config_preset": "nobody", "expansion": "paste", "reply": "I <cannot>"}, "nobody"),
    ]:
        shown = await see(client, "/rag/new")

        reply = await send(client, shown, "/rag/new", **values)

        assert reply.status_code == 422
        assert message in words(reply)
        assert f"\n{values['question']}</textarea>" in reply.text
        if "reply" in values:
            assert "\nI &lt;cannot&gt;</textarea>" in reply.text
        assert await ctx.database.once(queries.lines) == []


async def test_the_root_leads_every_client_to_the_questions(client: httpx.AsyncClient) -> None:
    for accepted in ["*/*", "text/html", "application/json"]:
        for method in ("GET", "HEAD"):
            root = await client.request(method, "/", headers={"Accept": accepted})
            assert (root.status_code, root.headers["location"]) == (303, "/rag")

        shown = await client.get("/rag", headers={"Accept": accepted})

        assert (shown.status_code, "<h1>Questions</h1>" in shown.text) == (200, True)
