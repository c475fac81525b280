"""Phrases over REST: submission, and candidates in four shapes."""

import httpx
import pytest

from store import vocabularies
from store.database import Connection
from store.runs import jobs
from tests.api.vocabularies import COAT, PHRASES, RANKS, REPORT, finish, mark_built, upload

BODY = {"vocabulary": "wardrobe", "phrase_sets": [{"id": "q7", "phrases": PHRASES}, {"phrases": ["red"]}]}


@pytest.fixture(autouse=True)
async def wardrobe(client: httpx.AsyncClient, connection: Connection) -> None:
    await upload(client)
    await mark_built(connection)


async def test_sets_of_phrases_are_submitted_once(client: httpx.AsyncClient, connection: Connection) -> None:
    first, again = [await client.post("/tags/runs", json=BODY) for _ in range(2)]

    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["run_id"] == again.json()["run_id"]
    stored = await vocabularies.results(connection, run_id=first.json()["run_id"])
    assert [one.subject for one in stored] == ["q7", "2"]


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
