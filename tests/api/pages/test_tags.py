"""The pages of phrases and of vocabularies."""

import httpx
import pytest

from store.database import Connection
from store.runs import jobs, overviews
from tests.api.pages.html import see, send, words
from tests.api.vocabularies import finish, mark_built, upload


@pytest.fixture
async def wardrobe(client: httpx.AsyncClient, connection: Connection) -> None:
    await upload(client)
    await mark_built(connection)


@pytest.mark.usefixtures("wardrobe")
async def test_phrases_are_submitted_and_their_candidates_shown(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    shown = await see(client, "/tags")

    reply = await send(
        client, shown, "/tags", phrases="Overcoat, umbrela\r\nred", vocabulary="wardrobe", context_tags="hat"
    )

    (run,) = await overviews.overviews(connection)
    first, _ = await jobs.in_order(connection, run.id, limit=9)
    assert (reply.status_code, reply.headers["location"]) == (303, f"/tags/runs/{run.id}")
    await finish(connection, first)
    page = words(await see(client, f"/tags/runs/{run.id}"))
    assert "coat 0.900 1.000 1.000 0.500 500 overcoat" in page
    assert "Not finished yet." in page
    detailed = words(await see(client, f"/tags/runs/{run.id}?verbose=true&phrase_ranks=true"))
    assert "coat 0.900 1.000 1.000 0.500 500 1 overcoat" in detailed
    assert "coat overcoat 0.900 1.000 1.000 0.500 (imputed) 500" in detailed
    assert f"Run {run.id}" in words(await see(client, "/tags"))


@pytest.mark.usefixtures("wardrobe")
async def test_lines_that_cannot_be_read_are_named_beside_the_box(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    shown = await see(client, "/tags")

    reply = await send(client, shown, "/tags", phrases='red\n{"phrase": ["x"]}', vocabulary="wardrobe")

    assert reply.status_code == 422
    assert "phrases:2" in words(reply)
    assert await overviews.overviews(connection) == []


@pytest.mark.usefixtures("wardrobe")
async def test_the_tags_of_a_vocabulary_are_searched(client: httpx.AsyncClient) -> None:
    assert 'href="/vocabularies/wardrobe"' in (await see(client, "/vocabularies")).text

    shown = words(await see(client, "/vocabularies/wardrobe?search=coat"))

    assert "coat 0 500" in shown
    assert "shirt" not in shown
