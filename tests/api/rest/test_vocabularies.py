"""Vocabularies over REST: import, tags, models, deletion."""

import httpx

from schemas.statuses import JobStatus
from store.database import Connection
from store.runs import jobs, overviews
from tests.api.vocabularies import PHRASES, mark_built, upload


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


async def test_a_vocabulary_that_unfinished_jobs_use_is_not_deleted(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    await upload(client)
    await mark_built(connection)
    body = {"vocabulary": "wardrobe", "phrase_sets": [{"phrases": PHRASES}]}
    run_id = (await client.post("/tags/runs", json=body)).json()["run_id"]

    refused = await client.delete("/vocabularies/wardrobe")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:ragq:problem:refused")
    assert f"`ragq cancel r{run_id}`" in refused.json()["detail"]

    await jobs.hold(connection, JobStatus.CANCELLED, None, run_id=run_id)
    assert (await client.delete("/vocabularies/wardrobe")).status_code == 204
    assert (await client.get("/vocabularies/wardrobe")).status_code == 404
    assert len(await jobs.in_order(connection, run_id, limit=9)) == 1
