"""Participant runs over REST."""

from typing import Any

import httpx
import pytest

from api.context import ApiContext
from stages.reports.run_words import DEMO_MODEL_NOTICE
from store.runs import jobs
from tests.api.participants import store_participants

ZERO_SHOT = {"modes": ["zero_shot"]}
SPLIT = {"split": "paper-test"} | ZERO_SHOT


@pytest.fixture(autouse=True)
async def people(ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        await store_participants(connection, paper_train=(304, 313), paper_test=(316, 319, 330))


async def submit(client: httpx.AsyncClient, body: dict[str, Any], **headers: str) -> httpx.Response:
    """The reply to a submission."""
    return await client.post("/participants/runs", json=body, headers=headers)


async def test_splits_are_listed_with_their_sizes(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        await connection.execute("DELETE FROM participant WHERE id = 330")

    assert (await client.get("/participants/splits")).json() == [
        {"data_set": "data", "called": name, "name": name, "participants": size, "without_transcript": without}
        for name, size, without in (("paper-test", 3, 1), ("paper-train", 2, 0))
    ]


async def test_a_split_is_submitted(client: httpx.AsyncClient, ctx: ApiContext) -> None:
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
    async with ctx.database.connection() as connection:
        assert len(await jobs.in_order(connection, made["run_id"], limit=9)) == 2


async def test_draws_of_the_same_work_are_runs_of_their_own(client: httpx.AsyncClient) -> None:
    body = SPLIT | {"profile": "paper"}
    first, drawn, again, fresh = [
        (await submit(client, body | more)).json() for more in ({}, {"draw": 1}, {"draw": 1}, {"fresh": True})
    ]

    assert drawn["run_id"] == again["run_id"]
    assert len({first["run_id"], drawn["run_id"], fresh["run_id"]}) == 3
    assert [notice for notice in drawn["notices"] if notice.startswith("Draw 1:")]
    assert (await submit(client, body | {"draw": 1, "fresh": True})).status_code == 422


async def test_participants_are_submitted_by_number_with_notices(client: httpx.AsyncClient) -> None:
    reply = (await submit(client, {"participants": [330, 316]} | ZERO_SHOT)).json()

    assert reply["jobs"] == 2
    assert [notice for notice in reply["notices"] if "results are not meaningful" in notice]
    shown = (await client.get(f"/runs/{reply['run_id']}")).json()
    assert [job["subject"] for job in shown["jobs"]] == ["330", "316"]


async def test_the_demo_model_is_noticed_under_another_profile(client: httpx.AsyncClient) -> None:
    chosen = {"profile": "paper", "settings": {"MODEL_QUANTITATIVE_MODEL": "smollm2:135m"}}

    small = (await submit(client, SPLIT | chosen)).json()["notices"]
    large = (await submit(client, SPLIT | {"profile": "paper"})).json()["notices"]

    assert [notice for notice in small if notice not in large] == [DEMO_MODEL_NOTICE]


async def test_the_same_work_is_the_same_run_unless_a_new_one_is_asked_for(client: httpx.AsyncClient) -> None:
    first = await submit(client, SPLIT)
    again = await submit(client, SPLIT)
    other = await submit(client, SPLIT | {"always_new": True})

    assert (again.status_code, again.json()["run_id"], again.json()["is_new"]) == (200, first.json()["run_id"], False)
    assert (other.status_code, other.json()["is_new"]) == (201, True)
    assert other.json()["run_id"] != first.json()["run_id"]


async def test_a_request_with_a_key_is_carried_out_once(client: httpx.AsyncClient) -> None:
    body = SPLIT | {"always_new": True}
    key = {"Idempotency-Key": "participants-1"}

    first = await submit(client, body, **key)
    second = await submit(client, body, **key)

    assert second.json()["run_id"] == first.json()["run_id"]
    assert ("idempotency-replayed" in first.headers, second.headers["idempotency-replayed"]) == (False, "true")
    assert len((await client.get("/runs")).json()["runs"]) == 1


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"split": "paper-tset"}, 409, "Stored splits: paper-test, paper-train"),
        ({"settings": {"EMBEDDING_TOP_K": 3}}, 409, "did you mean EMBEDDING_TOP_K_REFERENCES"),
        ({"settings": {"EMBEDDING_TOP_K_REFERENCES": 30}}, 409, "a whole number from 1 to 10"),
        ({"profile": "papper"}, 409, "paper"),
        ({"modes": ["few_shot"]}, 409, "ragq index references"),
        ({"modes": ["few_shot"], "references": "nowhere"}, 409, "neither a reference index nor a split"),
        ({"references": "nowhere"}, 409, "Zero-shot jobs search no references"),
        ({"data_set": "nowhere"}, 409, "Data set 'nowhere' is not stored"),
        ({"modes": ["zero_shot", "zero_shot"]}, 422, "name each mode once"),
        ({"participants": [316]}, 422, "exactly one of split and participants"),
        ({"split": None}, 422, "exactly one of split and participants"),
        ({"split": None, "participants": [316], "limit": 1}, 422, "limit goes with split"),
        ({"evidence": {"316": {"PHQ8_Sleep": "no list"}}}, 409, "The evidence cannot be used"),
        ({"config_preset": "Wide"}, 422, "Unknown field"),
    ],
)
async def test_what_the_command_refuses_is_refused(
    client: httpx.AsyncClient, change: dict[str, Any], status: int, words: str
) -> None:
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


@pytest.mark.parametrize(
    "limits", [{"max_failures": "0"}, {"max_failures": "101%"}, {"max_failures": 5}, {"max_llm_calls": 0}]
)
async def test_a_limit_that_is_none_is_refused(client: httpx.AsyncClient, limits: dict[str, Any]) -> None:
    assert (await submit(client, SPLIT | limits)).status_code == 422


async def test_the_same_work_with_other_limits_is_the_same_run_with_these(client: httpx.AsyncClient) -> None:
    first = (await submit(client, SPLIT)).json()["run_id"]
    again = (await submit(client, SPLIT | {"max_tokens": 5000})).json()

    assert (again["run_id"], again["is_new"]) == (first, False)
    assert (await client.get(f"/runs/{first}")).json()["limits"]["max_tokens"] == 5000
