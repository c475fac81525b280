"""Phrases and vocabularies over REST and on their pages."""

import httpx
import pytest

from schemas.statuses import JobStatus
from store import vocabularies
from store.database import Connection
from store.runs import jobs, overviews
from tests.api.pages.html import see, send, words
from tests.api.vocabularies import COAT, PHRASES, RANKS, REPORT, finish, mark_built, upload

BODY = {"vocabulary": "wardrobe", "phrase_sets": [{"id": "q7", "phrases": PHRASES}, {"phrases": ["red"]}]}


@pytest.fixture
async def wardrobe(client: httpx.AsyncClient, connection: Connection) -> None:
    await upload(client)
    await mark_built(connection)


@pytest.mark.usefixtures("wardrobe")
async def test_sets_of_phrases_are_submitted_once(client: httpx.AsyncClient, connection: Connection) -> None:
    first, again = [await client.post("/tags/runs", json=BODY) for _ in range(2)]

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["run_id"] == again.json()["run_id"]
    stored = await vocabularies.results(connection, run_id=first.json()["run_id"])
    assert [one.subject for one in stored] == ["q7", "2"]


@pytest.mark.usefixtures("wardrobe")
async def test_candidates_are_shown_in_the_shape_that_is_asked_for(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    run_id = (await client.post("/tags/runs", json=BODY)).json()["run_id"]
    first, _ = await jobs.in_order(connection, run_id, limit=9)
    await finish(connection, first)
    candidates, reports = [COAT.model_dump(mode="json")], [REPORT.model_dump(mode="json")]

    async def result(**options: str) -> object:
        shown = (await client.get(f"/tags/runs/{run_id}", params=options)).json()
        assert [(one["id"], one["status"]) for one in shown["sets"]] == [("q7", "succeeded"), ("2", "waiting")]
        assert shown["sets"][1]["result"] is None
        return shown["sets"][0]["result"]

    assert await result() == candidates
    assert await result(verbose="true") == [candidates, reports]
    assert await result(phrase_ranks="true") == [candidates, RANKS]
    assert await result(verbose="true", phrase_ranks="true") == [candidates, reports, RANKS]


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


async def test_files_are_imported_and_shown(client: httpx.AsyncClient) -> None:
    made = await upload(client)

    assert (made.status_code, made.headers["location"]) == (201, "/vocabularies/wardrobe")
    assert made.json() | {"id": 0} == {
        "id": 0,
        "tags": 12,
        "aliases": 10,
        "documents": 36,
        "rated": 3,
        "unknown_ratings": 0,
    }
    shown = (await client.get("/vocabularies/wardrobe")).json()
    assert (shown["tags"], shown["model"]) == (12, None)
    assert (await client.get("/vocabularies")).json()["vocabularies"] == [shown]


async def test_models_are_built_by_a_run(client: httpx.AsyncClient, connection: Connection) -> None:
    await upload(client)

    first, again = [await client.post("/vocabularies/wardrobe/models") for _ in range(2)]

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == {"run_id": again.json()["run_id"], "is_new": True}
    run = await overviews.get(connection, first.json()["run_id"])
    assert (run.kind, run.request["vocabulary"]) == ("index", "wardrobe")


@pytest.mark.usefixtures("wardrobe")
async def test_a_vocabulary_that_unfinished_jobs_use_is_not_deleted(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    run_id = (await client.post("/tags/runs", json=BODY)).json()["run_id"]

    refused = await client.delete("/vocabularies/wardrobe")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:ragq:problem:refused")
    assert f"`ragq cancel r{run_id}`" in refused.json()["detail"]

    await jobs.hold(connection, JobStatus.CANCELLED, None, run_id=run_id)
    assert (await client.delete("/vocabularies/wardrobe")).status_code == 204
    assert (await client.get("/vocabularies/wardrobe")).status_code == 404
    assert len(await jobs.in_order(connection, run_id, limit=9)) == 2
