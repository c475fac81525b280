"""Batches a step at a time, against a scripted provider: who gathers, sends, collects, and what is due then."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from schemas.errors import LLMError
from schemas.settings.process import ServerAddress
from schemas.statuses import WaitReason
from schemas.values.chat import ChatCall, ChatReply, Message, ModelIdentity
from schemas.values.runs import RunLimits
from store.database import Connection, Database
from store.runs import backlog, batches, ledger
from store.runs.batches import Registered
from store.runs.ledger import KeptCall
from store.runs.problems import problems
from store.runs.stages import Claim
from tests.scripted_batches import MODEL, Provider, provider
from tests.store.conftest import StoreRun
from tests.store.scored import claimed, enroll
from workers.batches import BatchSender
from workers.leases import AwaitsBatch, give_back


@dataclass
class Work:
    """The running stages of three jobs of a run whose calls are sent as batches, and who sends them."""

    database: Database
    connection: Connection
    server: Provider
    claims: list[Claim]

    def __post_init__(self) -> None:
        self.identity = ModelIdentity(backend="openai", server=self.server.url, model=MODEL, digest="")
        self.sender = BatchSender(self.database, ServerAddress(self.server.url, None), look_s=0.0001)

    async def register(self, text: str, of: int | Claim = 0) -> KeptCall | Registered:
        claim = of if isinstance(of, Claim) else self.claims[of]
        key = ledger.call_key(call(text), self.identity)
        return await batches.register(self.connection, claim, key, call(text), self.identity, 24)

    async def register_all(self, *texts: str, of: int | Claim = 0) -> list[KeptCall | Registered]:
        return [await self.register(text, of) for text in texts]

    async def step(self, times: int = 1) -> None:
        """One gathers and sends what there is; a second looks at it, and takes what is answered."""
        for _ in range(times):
            await self.sender.step()

    async def put_off(self, of: int = 0) -> None:
        await give_back(self.database, self.claims[of], AwaitsBatch(self.server.url, 24))

    async def cancel(self, *, place: int | None = None) -> None:
        job_ids = [claim.job_id for at, claim in enumerate(self.claims) if place in (None, at)]
        await self.connection.execute("UPDATE job SET status = 'cancelled' WHERE id = ANY($1::bigint[])", job_ids)

    async def begin(self) -> batches.ClaimedBatch | None:
        """Claim a batch to send or to look at."""
        return await batches.claim(self.connection, self.server.url, begins_s=1200, looks_s=0)

    async def due(self) -> set[int]:
        """The places of the stages that are due."""
        sql = "SELECT job_id FROM stage_run WHERE status = 'ready' AND not_before <= now()"
        found = {row["job_id"] for row in await self.connection.fetch(sql)}
        return {place for place, claim in enumerate(self.claims) if claim.job_id in found}

    async def value(self, sql: str) -> Any:
        return await self.connection.fetchval(sql)


def call(text: str) -> ChatCall:
    return ChatCall(model=MODEL, messages=(Message(role="user", content=text),), purpose="test")


@pytest.fixture
async def work(database: Database, connection: Connection, store_run: StoreRun) -> AsyncIterator[Work]:
    stored = await store_run("316", "319", "320")
    await batches.ask_for(connection, stored.run_id, 24)
    claims = [await claimed(connection, job_id) for job_id in stored.job_ids]
    with provider() as server:
        yield Work(database, connection, server, claims)


async def test_stages_are_due_when_all_of_their_answers_are_there(work: Work) -> None:
    for place, texts in enumerate((("a", "b"), ("b",), ("a",))):
        assert await work.register_all(*texts, of=place) == [Registered.AWAITED] * len(texts)
        await work.put_off(place)
    work.server.is_held = True
    await work.step(2)
    (sent,) = work.server.batches.values()
    assert len(sent.lines) == 2
    assert await work.due() == set()
    assert await work.value("SELECT DISTINCT reason FROM llm_wait") == WaitReason.BATCH
    assert await work.value("SELECT min(not_before) > now() + interval '24 hours' FROM stage_run")

    work.server.is_held = False
    await work.step()

    assert await work.due() == {0, 1, 2}
    assert await work.value("SELECT count(*) FROM llm_batch_stage") == 0
    assert not isinstance(await work.register("a"), Registered)


async def test_an_answer_counts_once_against_the_limits_of_its_run_and_a_stage_that_is_put_off_later_is_due(
    work: Work,
) -> None:
    await backlog.keep(work.connection, work.claims[0].run_id, RunLimits(max_llm_calls=9))
    for place in (0, 1):
        await work.register("a", place)
    await work.step(3)

    assert tuple(await work.connection.fetchrow("SELECT llm_calls, tokens FROM run_limit")) == (1, 110)
    await work.put_off()
    await work.step()
    assert await work.due() == {0}


async def test_calls_that_wait_count_against_the_limit_of_their_own_run_alone(work: Work, store_run: StoreRun) -> None:
    stored = await store_run("331")
    await batches.ask_for(work.connection, stored.run_id, 24)
    other = await claimed(work.connection, stored.job_ids[0], "extract")
    await backlog.keep(work.connection, work.claims[0].run_id, RunLimits(max_llm_calls=2))
    await work.register_all(*"xyz", of=other)

    assert await work.register_all(*"abc") == [*[Registered.AWAITED] * 2, Registered.TOO_MUCH]


async def test_an_answer_that_is_stored_while_a_stage_registers_is_found_and_not_asked_for_again(work: Work) -> None:
    figures: dict[str, Any] = {"stop_reason": "stop", "prompt_tokens": 1, "reply_tokens": 1, "seconds": 0.0}
    reply = ChatReply(text="yes", model=MODEL, digest="", **figures)
    key = ledger.call_key(call("a"), work.identity)
    await ledger.keep(work.connection, key, call("a"), reply, work.identity)

    found = await work.register("a")
    await work.step()

    assert not isinstance(found, Registered) and found[1].text == "yes"
    assert work.server.batches == {}


async def test_a_provider_that_repeats_and_invents_lines_changes_nothing(work: Work) -> None:
    await work.register("a")
    await work.step()
    keep = work.server.keep

    def hostile(content: bytes) -> str:
        lines = b'{"custom_id": "unknown", "response": {"status_code": 200, "body": {}}}\nnot json\n[]\n\n'
        return keep(lines + content + content)

    work.server.keep = hostile  # type: ignore[method-assign]
    await work.step(2)

    assert await work.value("SELECT count(*) FROM llm_call") == 1
    assert await work.value("SELECT ended_at IS NOT NULL FROM llm_batch")


async def test_answers_without_text_failed_and_expired_ones_are_sent_singly(work: Work) -> None:
    await work.register_all("a", "b", "c")
    await work.put_off()
    work.server.ends_as, work.server.answers_at_most = "expired", 2
    work.server.fails = lambda prompt: prompt.endswith("c")
    work.server.completion = lambda body: {"choices": [{"message": {"content": None}}]}  # type: ignore[method-assign]
    await work.step(3)

    assert {batch.error_file_id is None for batch in work.server.batches.values()} == {False}
    assert await work.register_all("a", "b", "c") == [Registered.SINGLE] * 3
    assert await work.due() == {0}
    assert await work.value("SELECT count(*) FROM llm_call") == 0
    assert work.server.files == {}, "prompts are left at the provider"


async def test_a_batch_is_cancelled_with_all_of_its_jobs_and_calls_of_deleted_runs_are_deleted(work: Work) -> None:
    work.server.is_held = True
    for place in (0, 1):
        await work.register(str(place), place)
    await work.step()
    await work.cancel(place=0)
    await work.step()
    assert work.server.batches["batch-1"].status == "in_progress"
    # Nothing more is sent of it.
    await work.register("a")
    await work.step()
    assert (len(work.server.batches), await work.value("SELECT count(*) FROM llm_batch_call")) == (1, 3)

    await work.cancel()
    await work.step()
    assert work.server.batches["batch-1"].status == "cancelling"

    await work.connection.execute("DELETE FROM run")
    await work.step()
    assert await work.value("SELECT count(*) FROM llm_batch_call") == 0


async def test_who_looks_at_a_batch_that_another_has_ended_changes_nothing(work: Work) -> None:
    await work.register_all("a", "b")
    await work.put_off()
    work.server.answers_at_most = 1
    await work.step()
    slow = await work.begin()
    assert slow is not None
    await work.step()

    assert not await batches.change(work.connection, slow)
    assert await batches.end(work.connection, slow, refused="gone") == 0
    assert await work.value("SELECT ended_at IS NOT NULL FROM llm_batch")
    assert await work.value("SELECT count(*) FROM llm_batch_call WHERE is_single AND error IS NULL") == 1


async def test_a_batch_that_the_provider_has_forgotten_fails_its_stages(work: Work) -> None:
    await work.register("a")
    await work.put_off()
    await work.step()
    work.server.refuses["GET /batches/batch-1"] = 404
    await work.step()

    with pytest.raises(LLMError, match="404"):
        await work.register("a")


async def test_a_batch_whose_provider_fails_is_a_problem_until_it_can_be_asked_for(work: Work) -> None:
    async def found() -> list[tuple[str, str | None, int]]:
        listed = await problems(work.connection, is_broker_away=False)
        return [(one.what, one.reason and one.reason.split(":")[0], one.jobs) for one in listed]

    await enroll(work.connection, "extract")
    await work.register("a")
    await work.put_off()
    await work.step()
    sent = await found()
    work.server.refuses["GET /batches/batch-1"] = 503
    await work.step()
    failing = await found()
    await work.connection.execute("UPDATE llm_batch SET due_at = now()")
    work.server.answers_at_most = 0
    await work.step()

    assert (sent, failing, await found()) == ([], [("waits", "Batch 1", 1)], [])


@pytest.mark.parametrize("begins", [True, False])
async def test_a_batch_that_is_refused_leaves_no_prompt_at_the_provider(work: Work, *, begins: bool) -> None:
    await work.register("a")
    if begins:
        work.server.ends_as = "failed"
    else:
        work.server.refuses["POST /batches"] = 400
    await work.step(3)

    with pytest.raises(LLMError):
        await work.register("a")
    assert work.server.files == {}


async def test_calls_of_one_model_are_one_batch_a_full_one_does_not_wait_and_each_is_begun_once(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MOST_CALLS", 3)
    await work.register_all(*"01234")
    url, other = work.server.url, "https://other.example.org/v1"
    asked = ((url, 60), (url, 60), (other, 0), (url, 0))
    made = [await batches.gather(work.connection, of, quiet_s=quiet_s) for of, quiet_s in asked]

    assert made == [1, 0, 0, 1]
    assert await work.value("SELECT array_agg(calls ORDER BY id) FROM llm_batch") == [3, 2]
    assert [await work.begin() is not None for _ in range(3)] == [True, True, False]
