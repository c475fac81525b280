"""Jobs and their attempts over REST."""

import httpx
import pytest

from schemas.values.chat import ChatCall, ChatReply, Message
from store.database import Connection
from store.runs import ledger, runs, stages
from store.runs.runs import StoredRun
from tests.fakes.chat import served
from tests.store.conftest import new_run
from tests.store.scored import TIMED_OUT, claimed, committing, take

SECRET = {"quotes": {"sleep": ["I lie awake"]}}


@pytest.fixture
async def stored(connection: Connection) -> StoredRun:
    """A run of one job, whose first stage is done and whose second failed once after a call."""
    run = await runs.store(connection, new_run(("316",), stages=("extract", "score")))
    (job_id,) = run.job_ids
    await take(connection, job_id, "extract", committing(SECRET))
    claim = await claimed(connection, job_id, "score")
    call = ChatCall(model="small", messages=(Message(role="user", content="I lie awake"),), timeout_s=1)
    reply = ChatReply(
        text="she said so", model="small", digest="d", stop_reason="stop", prompt_tokens=7, reply_tokens=3, seconds=0.5
    )
    kept = await ledger.keep(connection, "key", call, reply, served())
    await ledger.use(connection, claim.attempt_id, kept.call_id, "score", is_reused=False)
    await stages.fail(connection, claim, TIMED_OUT, inputs={"transcript_hash": "t"})
    return run


async def test_the_history_of_a_job_holds_no_text_unless_it_is_asked_for(
    client: httpx.AsyncClient, stored: StoredRun
) -> None:
    address = f"/jobs/{stored.job_ids[0]}/attempts"

    plain, full = await client.get(address), await client.get(address, params={"outputs": True})

    extract, score = plain.json()["attempts"]
    assert (extract["output"], extract["outcome"], score["error"]["details"]) == (None, "succeeded", None)
    assert "awake" not in plain.text and "private" not in plain.text
    assert full.json()["attempts"][0]["output"] == SECRET
    assert full.json()["attempts"][1]["error"]["details"] == {"words": "private"}
    assert score["previous_hash"] == extract["hash"]


async def test_an_attempt_shows_its_calls_and_their_texts_when_asked(
    client: httpx.AsyncClient, stored: StoredRun
) -> None:
    address = f"/jobs/{stored.job_ids[0]}/attempts?stage=score&number=1"

    plain, full = await client.get(address), await client.get(f"{address}&outputs=true")

    (call,) = plain.json()["attempts"][0]["calls"]
    assert (call["model"], call["is_reused"], call["prompt_tokens"], call["reply"]) == ("small", False, 7, None)
    assert "awake" not in plain.text and "she said so" not in plain.text
    (call,) = full.json()["attempts"][0]["calls"]
    assert call["reply"] == "she said so"
    assert call["request"]["messages"][0]["content"] == "I lie awake"


async def test_a_job_is_retried_paused_resumed_and_cancelled(client: httpx.AsyncClient, stored: StoredRun) -> None:
    address = f"/jobs/{stored.job_ids[0]}"

    for action in ("retry", "pause", "resume", "cancel"):
        reply = await client.post(f"{address}/{action}")
        assert reply.json()["job_ids"] == stored.job_ids

    assert (await client.post(f"{address}/pause")).status_code == 409
    assert (await client.get(address)).json()["status"] == "cancelled"
