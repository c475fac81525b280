"""The failures of a run."""

from typing import Any

from schemas.values.chat import ChatCall, ChatReply, Message
from store.database import Connection
from store.runs import jobs, ledger, stages
from store.runs.failures import run_failures
from tests.fakes.chat import served
from tests.stages.reports.builders import scores
from tests.store.scored import TIMED_OUT, claimed, end, store_scored_run

SUBJECT = ("zero_shot", 316)


def facts(found: Any) -> list[tuple[Any, ...]]:
    return [(one.stage, one.attempt, one.category, one.is_resolved, one.is_final) for one in found]


async def test_a_failed_attempt_is_final_until_a_retry_and_resolved_when_it_succeeds(connection: Connection) -> None:
    run_id = await store_scored_run(connection, {SUBJECT: TIMED_OUT})
    before = await run_failures(connection, run_id)
    (job_id,) = await jobs.retry(connection, run_id=run_id)
    waiting = await run_failures(connection, run_id)
    await end(connection, job_id, scores("1"), first="score")

    after = await run_failures(connection, run_id)

    category = "scoring_llm_timeout"
    assert facts(before) == [("score", 1, category, False, True)]
    assert facts(waiting) == [("score", 1, category, False, False)]
    assert facts(after) == [("score", 1, category, True, False)]


async def test_of_several_replies_that_could_not_be_used_the_last_one_names_the_item(connection: Connection) -> None:
    run_id = await store_scored_run(connection, {SUBJECT: None})
    (job_id,) = await jobs.in_order(connection, run_id, limit=2)
    claim = await claimed(connection, job_id, "extract")
    for key in ("PHQ8_Sleep", "PHQ8_Tired"):
        call = ChatCall(model="m", messages=(Message(role="user", content=key),))
        reply = ChatReply(text="?", model="m", digest="d", stop_reason="stop", seconds=0.1)
        kept = await ledger.keep(connection, key, call, reply, served())
        await ledger.use(connection, claim.attempt_id, kept.call_id, f"score {key}", is_reused=False)
        await ledger.reject_last(connection, claim.attempt_id)
    await stages.fail(connection, claim, TIMED_OUT, inputs={})

    (failure,) = await run_failures(connection, run_id)

    assert failure.evidence_key == "PHQ8_Tired"


async def test_a_lost_worker_is_a_failure(connection: Connection) -> None:
    run_id = await store_scored_run(connection, {SUBJECT: None})
    (job_id,) = await jobs.in_order(connection, run_id, limit=2)
    await stages.claim(connection, job_id, "extract", "worker", 0)
    await stages.expire(connection, max_interruptions=3)

    found = await run_failures(connection, run_id)

    assert facts(found) == [("extract", 1, "worker_lost", False, False)]


async def test_an_extraction_of_only_hallucinated_quotes_is_found_although_its_job_continued(
    connection: Connection,
) -> None:
    hallucinated = {"rejected": {"Sleep": 2, "Tired": 1}, "quotes": {"Sleep": [], "Tired": []}}
    grounded = {"rejected": {"Sleep": 2}, "quotes": {"Sleep": [], "Tired": ["I am tired"]}}
    run_id = await store_scored_run(connection, {SUBJECT: scores("1")}, extracted=hallucinated)
    other = await store_scored_run(connection, {SUBJECT: scores("1")}, extracted=grounded)

    found, nothing = await run_failures(connection, run_id), await run_failures(connection, other)

    assert [(one.subject, one.category, one.message) for one in found] == [
        (
            "316",
            "evidence_hallucination",
            "None of 3 extracted quotes is in the transcript; the job continued without any.",
        )
    ]
    assert nothing == ()
