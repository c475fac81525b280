"""Participant runs over REST."""

from typing import Any

import httpx
import pytest

from store.database import Connection
from store.runs import jobs
from tests.api.participants import store_participants

ZERO_SHOT = {"modes": ["zero_shot"]}
SPLIT = {"split": "paper-test"} | ZERO_SHOT


@pytest.fixture(autouse=True)
async def people(connection: Connection) -> None:
    await store_participants(connection, paper_train=(304, 313), paper_test=(316, 319, 330))


async def submit(client: httpx.AsyncClient, body: dict[str, Any], **headers: str) -> httpx.Response:
    """The reply to a submission."""
    return await client.post("/participants/runs", json=body, headers=headers)


async def test_splits_are_listed_with_the_participants_who_cannot_be_submitted(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    await connection.execute("DELETE FROM participant WHERE id = 330")
    sizes = {"paper-test": (3, 1), "paper-train": (2, 0)}
    assert (await client.get("/participants/splits")).json() == [
        {"data_set": "data", "called": name, "name": name, "participants": size, "without_transcript": without}
        for name, (size, without) in sizes.items()
    ]


async def test_a_split_is_submitted(client: httpx.AsyncClient, connection: Connection) -> None:
    body = SPLIT | {"limit": 2, "profile": "paper", "settings": {"MODEL_TEMPERATURE": 0.5, "CONSISTENCY_ENABLED": True}}

    reply = await submit(client, body)

    made = reply.json()
    assert (reply.status_code, reply.headers["location"]) == (201, f"/runs/{made['run_id']}")
    assert (made["is_new"], made["jobs"], made["profile"]) == (True, 2, "paper")
    assert made["changed_settings"] == {
        "MODEL_TEMPERATURE": {"value": 0.5, "profile": 0.0, "source": "option"},
        "CONSISTENCY_ENABLED": {"value": True, "profile": False, "source": "option"},
    }
    settings = (await client.get(f"/runs/{made['run_id']}/settings")).json()
    assert settings["MODEL_TEMPERATURE"] == {"value": 0.5, "source": "option"}
    assert settings["CONSISTENCY_ENABLED"] == {"value": True, "source": "option"}
    assert len(await jobs.in_order(connection, made["run_id"], limit=9)) == 2


async def test_a_dry_run_replies_with_the_estimate_and_stores_nothing(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    reply = await submit(client, SPLIT | {"dry_run": True})

    assert (reply.status_code, reply.json()["jobs"], "location" in reply.headers) == (200, 3, False)
    assert reply.json()["calls_at_most"] > 0
    assert await connection.fetchval("SELECT count(*) FROM run") == 0


async def test_what_the_command_refuses_is_refused(client: httpx.AsyncClient) -> None:
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({"split": "paper-tset"}, 409, "Stored splits: paper-test, paper-train"),
        ({"settings": {"EMBEDDING_TOP_K_REFERENCES": 30}}, 409, "a whole number from 1 to 10"),
        ({"references": "nowhere"}, 409, "Zero-shot jobs search no references"),
        ({"modes": ["zero_shot", "zero_shot"]}, 422, "name each mode once"),
        ({"participants": [316]}, 422, "exactly one of split and participants"),
        ({"split": None, "participants": [316], "limit": 1}, 422, "limit goes with split"),
        ({"config_preset": "Wide"}, 422, "Unknown field"),
    ]
    for change, status, words in cases:
        reply = await submit(client, SPLIT | change)

        assert reply.status_code == status
        assert words in reply.text
        assert (await client.get("/runs")).json()["runs"] == []


async def test_a_submission_has_limits_that_a_resume_replaces(client: httpx.AsyncClient) -> None:
    limits = {"max_failures": "10%", "max_llm_calls": 20, "max_tokens": 5000}
    run_id = (await submit(client, SPLIT | limits)).json()["run_id"]

    assert (await client.get(f"/runs/{run_id}")).json()["limits"] == limits | {"llm_calls": 0, "tokens": 0}
    assert (await client.post(f"/runs/{run_id}/pause")).status_code == 200
    resumed = await client.post(f"/runs/{run_id}/resume", json={"max_llm_calls": 40, "max_failures": "3"})
    assert (resumed.status_code, len(resumed.json()["job_ids"])) == (200, 3)
    after = (await client.get(f"/runs/{run_id}")).json()["limits"]
    assert after == limits | {"max_llm_calls": 40, "max_failures": "3", "llm_calls": 0, "tokens": 0}
    # No job is paused any more, and the limits change all the same.
    assert (await client.post(f"/runs/{run_id}/resume", json={"max_tokens": 9000})).json()["job_ids"] == []
    assert (await client.post(f"/runs/{run_id}/resume")).status_code == 409
