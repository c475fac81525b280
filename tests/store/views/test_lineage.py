"""A job with its whole history."""

from typing import Any

from schemas.values.chat import ChatCall, ChatReply, Message
from store.database import Connection
from store.runs import ledger
from store.views import job_trace
from tests.fakes.chat import served
from tests.store.query_runs import store_corpus, store_query_run
from tests.store.scored import TIMED_OUT, store_scored_run

CALL = ChatCall(model="m", messages=(Message(role="user", content="judge this"),), timeout_s=1, purpose="judge")
REPLY = ChatReply(
    text="accept", model="m", digest="d", stop_reason="stop", prompt_tokens=7, reply_tokens=2, seconds=0.5, tokens=None
)


async def test_calls_are_listed_at_the_attempt_that_made_them(connection: Connection) -> None:
    run_id = await store_scored_run(connection, {("few_shot", 316): TIMED_OUT})
    job_id = await _job_of(connection, run_id)
    kept = await ledger.keep(connection, "key", CALL, REPLY, served())
    for attempt_id in await _attempts_of(connection, job_id):
        await ledger.use(connection, attempt_id, kept.call_id, "judge", is_reused=False)
    last = (await _attempts_of(connection, job_id))[-1]
    await ledger.use(connection, last, kept.call_id, "judge", is_reused=True)
    trace = await job_trace(connection, job_id)
    first, second = trace.attempts
    assert (first.paid, first.reused, first.paid_tokens) == (1, 0, (7, 2))
    assert (second.paid, second.reused, second.paid_tokens) == (1, 1, (7, 2))
    assert second.calls[1].messages == [{"role": "user", "content": "judge this"}]
    assert second.calls[1].reply == "accept"


async def test_texts_are_read_with_their_ids(connection: Connection) -> None:
    chunk = (await store_corpus(connection, ["nile"]))["nile"]
    found: dict[str, Any] = {"dense": [chunk], "lexical": [], "fused": [chunk], "ranking": [chunk]}
    run_id = await store_query_run(connection, {"q1": found})
    job_id = await _job_of(connection, run_id)
    work_id = await connection.fetchval("SELECT work_id FROM chunks WHERE id = $1", chunk)
    await connection.execute(
        "UPDATE stage_attempt SET output = jsonb_set(output, '{chunks,0,work_id}', to_jsonb($1::bigint))"
        " WHERE job_id = $2 AND stage = 'rerank'",
        work_id,
        job_id,
    )
    trace = await job_trace(connection, job_id)
    assert trace.question is not None
    assert trace.question.original_query == "text of the question about q1"
    assert trace.titles == {work_id: "A title"}


async def _job_of(connection: Connection, run_id: int) -> int:
    job_id: int = await connection.fetchval("SELECT id FROM job WHERE run_id = $1", run_id)
    return job_id


async def _attempts_of(connection: Connection, job_id: int) -> list[int]:
    return [row["id"] for row in await connection.fetch("SELECT id FROM stage_attempt WHERE job_id = $1", job_id)]
