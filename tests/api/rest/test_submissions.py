"""Participants and sets of questions submitted over REST."""

from typing import Any

import httpx
import pytest

from stages.participants.splits import split_of
from store.database import Connection
from store.references import interviews
from store.runs import jobs
from tests.services.questions.questions import store_small_corpus
from tests.store.scored import import_labels

PARTICIPANTS = "/participants/runs"
SPLIT = {"split": "paper-test", "modes": ["zero_shot"]}
SETS = "/rag/query-sets/runs"
LINES = [{"id": "tea", "text": "Why is tea dark?"}, {"id": "arch", "text": "What holds an arch?"}]
SET: dict[str, Any] = {"queries": LINES, "corpus": "small", "until": "retrieve"}


@pytest.fixture(autouse=True)
async def stored(connection: Connection) -> None:
    splits = {"paper-train": (304, 313), "paper-test": (316, 319, 330)}
    await import_labels(connection, dict.fromkeys(sum(splits.values(), ())))
    made = [split_of(name, ids, data=name.encode()) for name, ids in splits.items()]
    await interviews.keep_splits(connection, "data", made)
    await store_small_corpus(connection)


async def test_splits_are_listed_with_the_participants_who_cannot_be_submitted(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    await connection.execute("DELETE FROM participant WHERE id = 330")
    assert [
        (split["called"], split["participant_ids"], split["without_transcript"])
        for split in (await client.get("/participants/splits")).json()["items"]
    ] == [("paper-test", [316, 319, 330], 1), ("paper-train", [304, 313], 0)]


async def test_a_split_is_submitted_and_a_dry_run_estimated_without_storing_anything(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    dry = await client.post(PARTICIPANTS, json=SPLIT | {"dry_run": True})
    assert (dry.status_code, dry.json()["jobs"], "location" in dry.headers) == (200, 3, False)
    assert dry.json()["calls_at_most"] > 0
    assert await connection.fetchval("SELECT count(*) FROM run WHERE kind = 'participant'") == 0

    chosen = {"MODEL_TEMPERATURE": 0.5, "CONSISTENCY_ENABLED": True}
    reply = await client.post(PARTICIPANTS, json=SPLIT | {"limit": 2, "profile": "paper", "settings": chosen})

    made = reply.json()
    assert (reply.status_code, reply.headers["location"]) == (201, f"/runs/{made['run_id']}")
    assert (made["is_new"], made["jobs"]) == (True, 2)
    stored = (await client.get(f"/runs/{made['run_id']}?settings=true")).json()
    settings = stored["settings"]
    assert stored["run"]["profile"] == "paper"
    assert {name: settings[name] for name in chosen} == {
        name: {"value": value, "source": "option"} for name, value in chosen.items()
    }
    assert len(await jobs.of_run(connection, made["run_id"])) == 2


async def test_a_set_is_one_run_with_a_job_per_question_once_for_a_key(client: httpx.AsyncClient) -> None:
    key = {"Idempotency-Key": "set-1"}
    body = SET | {"expand": False, "always_new": True}
    first, second = [await client.post(SETS, json=body, headers=key) for _ in range(2)]

    made = first.json()
    assert (first.status_code, first.headers["location"]) == (201, f"/runs/{made['run_id']}")
    assert (made["is_new"], made["jobs"], second.json()["run_id"]) == (True, 2, made["run_id"])
    assert second.headers["idempotency-replayed"] == "true"
    listed = (await client.get("/rag/queries")).json()["queries"]
    assert {line["original_query"] for line in listed} == {line["text"] for line in LINES}
    shown = (await client.get(f"/runs/{made['run_id']}")).json()
    assert [job["subject"] for job in shown["jobs"]] == ["tea", "arch"]


async def test_what_the_command_refuses_is_refused(client: httpx.AsyncClient, connection: Connection) -> None:
    of_participants: list[tuple[dict[str, Any], int, str]] = [
        ({"split": "paper-tset"}, 409, "Stored splits: paper-test, paper-train"),
        ({"split": "paper-tset", "dry_run": True}, 409, "Stored splits: paper-test, paper-train"),
        ({"settings": {"EMBEDDING_TOP_K_REFERENCES": 30}}, 409, "a whole number from 1 to 10"),
        ({"references": "nowhere"}, 409, "Zero-shot jobs search no references"),
        ({"modes": ["zero_shot", "zero_shot"]}, 422, "name each mode once"),
        ({"participants": [316]}, 422, "exactly one of split and participants"),
        ({"split": None, "participants": [316], "limit": 1}, 422, "limit goes with split"),
        ({"config_preset": "Wide"}, 422, "Unknown field"),
    ]
    of_questions: list[tuple[dict[str, Any], int, str]] = [
        ({"queries": [LINES[0], LINES[0]]}, 422, "an id of its own"),
        ({"queries": [{"id": "my question", "text": "Why?"}]}, 409, "query ids cannot be used"),
        ({"queries": [LINES[0] | {"judgements": {"tea": 10_000}}]}, 422, "at most 4 digits"),
        ({"corpus": "nowhere"}, 404, "There is no corpus"),
        ({"config_preset": "none"}, 404, "There is no preset"),
        ({"settings": {"retrieval.dense_limit": 101}}, 422, "retrieval.dense_limit"),
    ]
    before = await connection.fetchval("SELECT count(*) FROM run")
    for path, body, cases in ((PARTICIPANTS, SPLIT, of_participants), (SETS, SET, of_questions)):
        for change, status, words in cases:
            reply = await client.post(path, json=body | change)

            assert (reply.status_code, words in reply.text) == (status, True), reply.text
    assert await connection.fetchval("SELECT count(*) FROM run") == before


async def test_a_submission_has_limits_that_a_resume_replaces(client: httpx.AsyncClient) -> None:
    limits = {"max_failures": "10%", "max_llm_calls": 20, "max_tokens": 5000}
    address = (await client.post(PARTICIPANTS, json=SPLIT | limits)).headers["location"]

    async def now() -> Any:
        return (await client.get(address)).json()["limits"]

    assert await now() == limits | {"llm_calls": 0, "tokens": 0}
    assert (await client.post(f"{address}/pause")).status_code == 200
    resumed = await client.post(f"{address}/resume", json={"max_llm_calls": 40, "max_failures": "3"})
    assert (resumed.status_code, len(resumed.json()["job_ids"])) == (200, 3)
    assert await now() == limits | {"max_llm_calls": 40, "max_failures": "3", "llm_calls": 0, "tokens": 0}
    # No job is paused any more, and the limits change all the same.
    assert (await client.post(f"{address}/resume", json={"max_tokens": 9000})).json()["job_ids"] == []
    assert (await client.post(f"{address}/resume")).status_code == 409
