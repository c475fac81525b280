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
async def test_sets_are_submitted_once_and_their_candidates_shown_in_the_shape_that_is_asked_for(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    made, again = [await client.post("/tags/runs", json=BODY) for _ in range(2)]
    run_id = made.json()["run_id"]
    assert (made.status_code, again.status_code, again.json()["run_id"]) == (201, 200, run_id)
    stored = await vocabularies.results(connection, run_id=run_id)
    assert [one.id for one in stored] == ["q7", "2"]
    first, _ = await jobs.in_order(connection, run_id, limit=9)
    await finish(connection, first)
    candidates, reports = [COAT.model_dump(mode="json")], [REPORT.model_dump(mode="json")]

    for options, result in [
        ({}, candidates),
        ({"verbose": "true"}, [candidates, reports]),
        ({"phrase_ranks": "true"}, [candidates, RANKS]),
        ({"verbose": "true", "phrase_ranks": "true"}, [candidates, reports, RANKS]),
    ]:
        shown = (await client.get(f"/tags/runs/{run_id}", params=options)).json()["items"]
        assert [(one["id"], one["status"]) for one in shown] == [("q7", "succeeded"), ("2", "waiting")]
        assert [one["result"] for one in shown] == [result, None]


@pytest.mark.usefixtures("wardrobe")
async def test_phrases_are_submitted_and_their_candidates_shown_and_lines_that_cannot_be_read_are_named(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    shown = await see(client, "/ui/tags")
    refused = await send(client, shown, "/ui/tags", phrases='red\n{"phrase": ["x"]}', vocabulary="wardrobe")
    assert (refused.status_code, "phrases:2" in words(refused)) == (422, True)
    assert await overviews.overviews(connection) == []

    reply = await send(
        client, shown, "/ui/tags", phrases="Overcoat, umbrela\r\nred", vocabulary="wardrobe", context_tags="hat"
    )

    (run,) = await overviews.overviews(connection)
    first, _ = await jobs.in_order(connection, run.id, limit=9)
    assert (reply.status_code, reply.headers["location"]) == (303, f"/ui/tags/runs/{run.id}")
    await finish(connection, first)
    page = words(await see(client, f"/ui/tags/runs/{run.id}"))
    assert "coat 0.900 1.000 1.000 0.500 500 1 overcoat" in page
    assert "Not finished yet." in page
    assert "coat overcoat 0.900 1.000 1.000 0.500 (imputed) 500" in words(await see(client, f"/ui/jobs/{first}"))
    assert f"Run {run.id}" in words(await see(client, "/ui/tags"))


async def test_files_are_imported_shown_and_searched_and_models_built_by_a_run(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    made = await upload(client)

    assert (made.status_code, made.headers["location"]) == (201, "/vocabularies?name=wardrobe")
    (shown,) = (await client.get("/vocabularies?name=wardrobe")).json()["items"]
    assert shown == made.json()
    assert (shown["tags"], shown["aliases"], shown["documents"], shown["model"]) == (12, 10, 36, None)
    assert (await client.get("/vocabularies")).json()["items"] == [shown]
    assert (await client.get("/vocabularies/wardrobe")).headers["allow"] == "DELETE"
    assert 'href="/ui/vocabularies/wardrobe"' in (await see(client, "/ui/vocabularies")).text
    found = words(await see(client, "/ui/vocabularies/wardrobe?search=coat"))
    assert ("coat 0 500" in found, "shirt" in found) == (True, False)

    first, again = [await client.post("/vocabularies/wardrobe/models") for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 200)
    assert (first.json()["run_id"], first.json()["is_new"]) == (again.json()["run_id"], True)
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
    assert (await client.get("/vocabularies/wardrobe/tags")).status_code == 404
    assert len(await jobs.in_order(connection, run_id, limit=9)) == 2
