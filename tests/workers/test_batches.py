"""Batches a step at a time, against a scripted provider: who gathers, sends, collects, and what is due then."""

from collections.abc import AsyncIterator, Iterator

import pytest

from schemas.settings.process import OpenAIAddress
from schemas.statuses import WaitReason
from schemas.values.chat import ChatCall, ChatReply, Message, ModelIdentity
from schemas.values.runs import RunLimits
from store.database import Connection, Database
from store.runs import backlog, batches, ledger, stages
from store.runs.batches import BatchStatus
from store.runs.problems import problems
from store.runs.stages import Claim
from tests.scripted_batches import MODEL, Provider, provider
from tests.store.conftest import StoreRun
from tests.store.enrolled import enroll
from tests.store.scored import claimed
from workers.batches import BatchSender
from workers.leases import AwaitsBatch, give_back


@pytest.fixture
def server() -> Iterator[Provider]:
    with provider() as found:
        yield found


@pytest.fixture
async def sender(database: Database, server: Provider) -> AsyncIterator[BatchSender]:
    yield BatchSender(database, OpenAIAddress(server.url, None), look_s=0.0001)


@pytest.fixture
async def claims(database: Database, store_run: StoreRun) -> list[Claim]:
    """The running stages of three jobs of a run whose calls are sent as batches."""
    stored = await store_run("316", "319", "320")
    async with database.connection() as connection:
        await batches.ask_for(connection, stored.run_id, 24)
        found = [await stages.claim(connection, job_id, "extract", "worker", 60) for job_id in stored.job_ids]
    return [claim for claim in found if claim is not None]


def call(text: str) -> ChatCall:
    return ChatCall(model=MODEL, messages=(Message(role="user", content=text),), purpose="test")


async def register(database: Database, server: Provider, claim: Claim, text: str) -> batches.Registered:
    identity = ModelIdentity(backend="openai", server=server.url, model=MODEL, digest="")
    async with database.connection() as connection:
        key = ledger.call_key(call(text), identity)
        return await batches.register(connection, claim, key, call(text), identity, 24)


async def come_to_an_end(sender: BatchSender) -> None:
    """Let calls be gathered and sent, looked at, and their answers taken."""
    for _ in range(3):
        await sender.step()


async def put_off(database: Database, server: Provider, claim: Claim) -> None:
    await give_back(database, claim, AwaitsBatch(server.url, 24))


async def due(connection: Connection) -> set[int]:
    rows = await connection.fetch("SELECT job_id FROM stage_run WHERE status = 'ready' AND not_before <= now()")
    return {row["job_id"] for row in rows}


async def test_stages_are_due_when_all_of_their_answers_are_there(
    database: Database, server: Provider, sender: BatchSender, claims: list[Claim]
) -> None:
    for claim, texts in zip(claims, (("a", "b"), ("b",), ("a",)), strict=True):
        for text in texts:
            assert await register(database, server, claim, text) == batches.Registered()
        await put_off(database, server, claim)
    server.is_held = True
    await sender.step()
    await sender.step()
    (sent,) = server.batches.values()
    assert len(sent.lines) == 2
    async with database.connection() as connection:
        assert await due(connection) == set()
        waits = await connection.fetchval("SELECT DISTINCT reason FROM llm_wait")
        assert waits == WaitReason.BATCH
        assert await connection.fetchval("SELECT min(not_before) > now() + interval '24 hours' FROM stage_run")

    server.is_held = False
    await sender.step()

    async with database.connection() as connection:
        assert await due(connection) == {claim.job_id for claim in claims}
        assert await connection.fetchval("SELECT count(*) FROM llm_batch_stage") == 0
    assert (await register(database, server, claims[0], "a")).kept is not None


async def test_an_answer_counts_once_against_the_limits_of_its_run(
    database: Database, server: Provider, sender: BatchSender, claims: list[Claim]
) -> None:
    async with database.connection() as connection:
        await backlog.keep(connection, claims[0].run_id, RunLimits(max_llm_calls=9))
    for claim in claims[:2]:
        await register(database, server, claim, "a")
    await come_to_an_end(sender)

    async with database.connection() as connection:
        assert tuple(await connection.fetchrow("SELECT llm_calls, tokens FROM run_limit")) == (1, 110)


async def test_calls_that_wait_count_against_the_limit_of_their_own_run_alone(
    database: Database, server: Provider, claims: list[Claim], store_run: StoreRun
) -> None:
    stored = await store_run("331")
    async with database.connection() as connection:
        await batches.ask_for(connection, stored.run_id, 24)
        other = await claimed(connection, stored.job_ids[0], "extract")
        await backlog.keep(connection, claims[0].run_id, RunLimits(max_llm_calls=2))
    for text in "xyz":
        await register(database, server, other, text)

    found = [await register(database, server, claims[0], text) for text in "abc"]

    assert [one.is_too_much for one in found] == [False, False, True]


async def test_an_answer_that_comes_before_its_stage_is_put_off_makes_it_due_all_the_same(
    database: Database, server: Provider, sender: BatchSender, claims: list[Claim]
) -> None:
    await register(database, server, claims[0], "a")
    await come_to_an_end(sender)
    await put_off(database, server, claims[0])
    await sender.step()

    async with database.connection() as connection:
        assert await due(connection) == {claims[0].job_id}


async def test_an_answer_that_is_stored_while_a_stage_registers_is_found_and_not_asked_for_again(
    database: Database, server: Provider, sender: BatchSender, claims: list[Claim]
) -> None:
    identity = ModelIdentity(backend="openai", server=server.url, model=MODEL, digest="")
    reply = ChatReply(
        text="yes", model=MODEL, digest="", stop_reason="stop", prompt_tokens=1, reply_tokens=1, seconds=0.0
    )
    async with database.connection() as connection:
        await ledger.keep(connection, ledger.call_key(call("a"), identity), call("a"), reply, identity)

    found = await register(database, server, claims[0], "a")
    await sender.step()

    assert found.kept is not None and found.kept.reply.text == "yes"
    assert server.batches == {}


async def test_a_provider_that_repeats_and_invents_lines_changes_nothing(
    database: Database, server: Provider, sender: BatchSender, claims: list[Claim]
) -> None:
    await register(database, server, claims[0], "a")
    await sender.step()
    server.is_held = False
    keep = server.keep

    def hostile(content: bytes) -> str:
        lines = b'{"custom_id": "unknown", "response": {"status_code": 200, "body": {}}}\nnot json\n[]\n\n'
        return keep(lines + content + content)

    server.keep = hostile  # type: ignore[method-assign]
    await sender.step()
    await sender.step()

    async with database.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM llm_call") == 1
        assert await connection.fetchval("SELECT status FROM llm_batch") == BatchStatus.ENDED


async def test_answers_without_text_and_expired_ones_are_sent_singly(
    database: Database, server: Provider, sender: BatchSender, claims: list[Claim]
) -> None:
    for text in ("a", "b"):
        await register(database, server, claims[0], text)
    await put_off(database, server, claims[0])
    server.ends_as, server.answers_at_most = "expired", 1
    server.completion = lambda body: {"choices": [{"message": {"content": None}}]}  # type: ignore[method-assign]
    await come_to_an_end(sender)

    assert [(await register(database, server, claims[0], text)).is_single for text in ("a", "b")] == [True, True]
    async with database.connection() as connection:
        assert await due(connection) == {claims[0].job_id}
        assert await connection.fetchval("SELECT count(*) FROM llm_call") == 0


async def test_nothing_is_sent_of_jobs_that_are_cancelled_and_calls_of_deleted_runs_are_deleted(
    database: Database, server: Provider, sender: BatchSender, claims: list[Claim]
) -> None:
    await register(database, server, claims[0], "a")
    async with database.connection() as connection:
        await connection.execute("UPDATE job SET status = 'cancelled'")
        await sender.step()
        assert server.batches == {}
        assert await connection.fetchval("SELECT count(*) FROM llm_batch_call") == 1
        await connection.execute("DELETE FROM run")
        await sender.step()

        assert await connection.fetchval("SELECT count(*) FROM llm_batch_call") == 0


async def test_a_batch_is_cancelled_with_all_of_its_jobs(
    database: Database, server: Provider, sender: BatchSender, claims: list[Claim]
) -> None:
    server.is_held = True
    for claim in claims[:2]:
        await register(database, server, claim, str(claim.job_id))
    await sender.step()
    async with database.connection() as connection:
        await connection.execute("UPDATE job SET status = 'cancelled' WHERE id = $1", claims[0].job_id)
        await sender.step()
        assert server.batches["batch-1"].status == "in_progress"
        await connection.execute("UPDATE job SET status = 'cancelled'")
        await sender.step()

    assert server.batches["batch-1"].status == "cancelling"


async def test_who_looks_at_a_batch_that_another_has_ended_changes_nothing(
    database: Database, server: Provider, sender: BatchSender, claims: list[Claim]
) -> None:
    for text in ("a", "b"):
        await register(database, server, claims[0], text)
    await put_off(database, server, claims[0])
    server.answers_at_most = 1
    await sender.step()
    async with database.connection() as connection:
        slow = await batches.claim(connection, server.url, begins_s=60, looks_s=0)
        assert slow is not None
        await sender.step()

        assert not await batches.change(connection, slow, BatchStatus.SENT)
        assert await batches.end(connection, slow, refused="gone") == 0
        assert await connection.fetchval("SELECT status FROM llm_batch") == BatchStatus.ENDED
        assert await connection.fetchval("SELECT count(*) FROM llm_batch_call WHERE is_single AND error IS NULL") == 1


async def test_a_batch_that_the_provider_has_forgotten_fails_its_stages(
    database: Database, server: Provider, sender: BatchSender, claims: list[Claim]
) -> None:
    await register(database, server, claims[0], "a")
    await put_off(database, server, claims[0])
    await sender.step()
    server.refuses["GET /batches/batch-1"] = 404
    await sender.step()

    found = await register(database, server, claims[0], "a")
    assert found.error is not None and "404" in found.error and not found.is_single


async def test_a_batch_whose_provider_fails_is_a_problem_until_it_can_be_asked_for(
    database: Database, server: Provider, sender: BatchSender, claims: list[Claim]
) -> None:
    async def found() -> list[tuple[str, str | None, int]]:
        async with database.connection() as connection:
            await enroll(connection, "extract")
            listed = await problems(connection, is_broker_away=False)
        return [(one.what, one.reason and one.reason.split(":")[0], one.jobs) for one in listed]

    await register(database, server, claims[0], "a")
    await put_off(database, server, claims[0])
    await sender.step()
    sent = await found()
    server.refuses["GET /batches/batch-1"] = 503
    await sender.step()
    failing = await found()
    async with database.connection() as connection:
        await connection.execute("UPDATE llm_batch SET due_at = now()")
    server.answers_at_most = 0
    await sender.step()

    assert (sent, failing, await found()) == ([], [("waits", "Batch 1", 1)], [])


@pytest.mark.parametrize("begins", [True, False])
async def test_a_batch_that_is_refused_leaves_no_prompt_at_the_provider(
    database: Database, server: Provider, sender: BatchSender, claims: list[Claim], *, begins: bool
) -> None:
    await register(database, server, claims[0], "a")
    if begins:
        server.ends_as = "failed"
    else:
        server.refuses["POST /batches"] = 400
    await come_to_an_end(sender)

    found = await register(database, server, claims[0], "a")
    assert found.error is not None
    assert server.files == {}


async def test_calls_of_one_model_are_one_batch_and_a_full_one_does_not_wait(
    database: Database, server: Provider, claims: list[Claim], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MOST_CALLS", 3)
    for number in range(5):
        await register(database, server, claims[0], str(number))
    async with database.connection() as connection:
        assert await batches.gather(connection, server.url, quiet_s=60) == 1
        assert await batches.gather(connection, server.url, quiet_s=60) == 0
        assert await batches.gather(connection, "https://other.example.org/v1", quiet_s=0) == 0
        assert await batches.gather(connection, server.url, quiet_s=0) == 1
        rows = await connection.fetch("SELECT calls FROM llm_batch ORDER BY id")

    assert [row["calls"] for row in rows] == [3, 2]


async def test_nobody_else_begins_a_batch_meanwhile(database: Database, server: Provider, claims: list[Claim]) -> None:
    await register(database, server, claims[0], "a")
    async with database.connection() as connection:
        await batches.gather(connection, server.url, quiet_s=0)
        first = await batches.claim(connection, server.url, begins_s=1200, looks_s=1)

        assert first is not None
        assert await batches.claim(connection, server.url, begins_s=1200, looks_s=1) is None
