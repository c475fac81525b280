"""Calls of several processes within the limits of their server and their run."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from redis.asyncio import Redis

from schemas.errors import LLMError, StackError
from schemas.settings.process import ProcessSettings
from schemas.statuses import WaitReason
from schemas.values.chat import ChatCall, ChatReply, Message, ModelIdentity
from schemas.values.runs import RunLimits
from store.database import Connection, Database
from store.runs import backlog, ledger, stages
from store.runs.stages import Claim
from tests.embedded import ValkeyServer
from tests.store.conftest import StoreRun
from tests.store.scored import claimed
from workers.call_limits import MOST_REFUSALS, CallLimits, client
from workers.leases import BudgetSpent, ServerBusy

SERVER = "http://gpu:8000/v1"
CALL = ChatCall(model="m", messages=(Message(role="user", content="Is it so?"),), max_tokens=10)
REPLY = ChatReply(text="yes", model="m", digest="", stop_reason="stop", prompt_tokens=20, reply_tokens=5, seconds=0.1)


def limited_to(calls: int = 0, requests: int = 0, tokens: int = 0) -> ProcessSettings:
    return ProcessSettings(ragq_llm_concurrency=calls, ragq_llm_rpm=requests, ragq_llm_tpm=tokens)


class Server:
    """What a server sees of its calls."""

    def __init__(self, *errors: LLMError, call_s: float = 0.0) -> None:
        self.errors = list(errors)
        self.call_s = call_s
        self.began: list[float] = []
        self.at_once = self.most_at_once = 0

    async def send(self) -> ChatReply:
        self.began.append(time.monotonic())
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(self.call_s)
        self.at_once -= 1
        if self.errors:
            raise self.errors.pop(0)
        return REPLY


@pytest.fixture
async def redis(valkey: ValkeyServer) -> AsyncIterator[Redis]:
    async with Redis.from_url(valkey.url) as client:
        await client.flushdb()
        yield client


@dataclass
class Asking:
    """Stages that a worker holds, and the calls of processes with limits."""

    connection: Connection
    database: Database
    redis: Redis
    claims: Sequence[Claim]

    def process(self, **limits: int) -> CallLimits:
        return CallLimits(self.database, limited_to(**limits), self.redis, lease_s=2.0)

    def ask(self, process: CallLimits, of: int, server: "Server", url: str = SERVER) -> Coroutine[Any, Any, ChatReply]:
        return process.ask(self.claims[of], url, CALL, server.send)

    async def limit(self, **limits: int) -> None:
        await backlog.keep(self.connection, self.claims[0].run_id, RunLimits(**limits))

    async def wait(self, refusals: int) -> None:
        """Note that the first stage was refused so often."""
        reason = WaitReason.REFUSED
        await ledger.wait(self.connection, self.claims[0], server=SERVER, reason=reason, wait_s=0, refusals=refusals)

    async def permits(self) -> int:
        taken: int = await self.redis.zcard(f"ragq:llm:calls:{SERVER}")
        return taken


@pytest.fixture
async def asking(database: Database, connection: Connection, redis: Redis, store_run: StoreRun) -> Asking:
    stored = await store_run(*map(str, range(301, 313)))
    claims = [await claimed(connection, job_id, "extract") for job_id in stored.job_ids]
    return Asking(connection, database, redis, claims)


def refused(status: int = 429, retry_after_s: float | None = None) -> LLMError:
    return LLMError("Not now.", status=status, retry_after_s=retry_after_s)


async def test_two_processes_keep_one_limit_of_calls_and_leave_no_slot_empty(asking: Asking) -> None:
    server = Server(call_s=0.1)
    processes = [asking.process(calls=4) for _ in range(2)]

    await asyncio.gather(*(asking.ask(processes[of % 2], of, server) for of in range(12)))

    assert (len(server.began), server.most_at_once) == (12, 4)
    # Three turns of four calls, the last of which begins after 0.2 s; one call at a time would begin it after 1.1 s.
    assert server.began[-1] - server.began[0] < 1.0


async def test_a_stage_that_has_to_wait_for_long_is_given_back_after_a_second(asking: Asking) -> None:
    server = Server()
    process = asking.process(requests=1)
    await asking.ask(process, 0, server)
    began = time.monotonic()

    errors = await asyncio.gather(*(asking.ask(process, of, server) for of in range(1, 5)), return_exceptions=True)

    assert 0.9 < time.monotonic() - began < 30
    assert len(server.began) == 1
    for error in errors:
        assert isinstance(error, ServerBusy)
        assert (error.server, error.reason) == (SERVER, WaitReason.REQUESTS)
        assert 55 < error.wait_s < 61


async def test_who_waits_for_the_calls_of_others_is_given_back_after_a_second(asking: Asking) -> None:
    server, process = Server(call_s=2.5), asking.process(calls=8)

    found = await asyncio.gather(*(asking.ask(process, of, server) for of in range(12)), return_exceptions=True)

    assert Counter(map(type, found)) == {ChatReply: 8, ServerBusy: 4}
    assert {one.reason for one in found if isinstance(one, ServerBusy)} == {WaitReason.CALLS}


async def test_a_free_slot_is_of_who_waits_here_else_of_who_was_given_back(asking: Asking) -> None:
    process, given_back = asking.process(calls=1), asking.claims[2]
    reason = WaitReason.CALLS
    await ledger.wait(asking.connection, given_back, server=SERVER, reason=reason, wait_s=60, refusals=0)
    first, second = (asyncio.ensure_future(asking.ask(process, of, Server(call_s=0.5))) for of in range(2))

    await first
    assert await stages.claim(asking.connection, given_back.job_id, "extract", "worker", 60) is None
    await second
    assert await stages.claim(asking.connection, given_back.job_id, "extract", "worker", 60) is not None


async def test_who_waited_longest_is_brought_forward_and_has_used_no_attempt(asking: Asking) -> None:
    first, second, *_ = asking.claims
    for held in (first, second):
        await ledger.wait(asking.connection, held, server=SERVER, reason=WaitReason.CALLS, wait_s=60, refusals=0)

    await ledger.bring_forward(asking.connection, SERVER)

    assert await stages.claim(asking.connection, second.job_id, "extract", "worker", 60) is None
    assert (await claimed(asking.connection, first.job_id, "extract")).attempt == 1


async def test_a_refusal_holds_back_every_process_until_its_time(asking: Asking) -> None:
    server = Server(refused(retry_after_s=0.7))
    asked = asyncio.ensure_future(asking.ask(asking.process(), 0, server))
    await asyncio.sleep(0.2)

    await asking.ask(asking.process(), 1, server)

    assert (await asked).text == "yes"
    assert len(server.began) == 3
    assert min(server.began[1:]) - server.began[0] >= 0.65


async def test_a_long_refusal_gives_the_stage_back_and_counts_for_no_budget(asking: Asking) -> None:
    await asking.limit(max_llm_calls=1)
    process = asking.process(calls=1)

    with pytest.raises(ServerBusy) as busy:
        await asking.ask(process, 0, Server(refused(503, 30.0)))

    assert (busy.value.reason, busy.value.refusals) == (WaitReason.REFUSED, 1)
    assert 28 < busy.value.wait_s <= 30
    assert await asking.permits() == 0
    # It counted for no budget.
    assert await asking.ask(process, 0, Server(), "http://other/v1") == REPLY


async def test_other_errors_end_the_call(asking: Asking) -> None:
    for error in [refused(503), refused(500), LLMError("Bad.", status=400)]:
        with pytest.raises(LLMError) as raised:
            await asking.ask(asking.process(calls=1), 0, Server(error))

        assert raised.value is error
        assert await asking.permits() == 0


async def test_a_call_or_a_list_of_models_that_is_refused_is_waited_for_and_not_for_ever(asking: Asking) -> None:
    process = asking.process()

    async def find() -> ModelIdentity:
        raise refused(retry_after_s=9.0)

    with pytest.raises(ServerBusy) as busy:
        await process.look_up(asking.claims[0], find)
    assert (busy.value.wait_s, busy.value.refusals) == (9.0, 1)
    await asking.wait(MOST_REFUSALS - 1)
    with pytest.raises(LLMError):
        await process.look_up(asking.claims[0], find)
    with pytest.raises(LLMError):
        await asking.ask(process, 0, Server(refused()))


async def test_a_stage_that_got_its_answer_waits_no_more(asking: Asking) -> None:
    await asking.wait(1)

    await asking.ask(asking.process(), 0, Server())

    assert await asking.connection.fetchval("SELECT count(*) FROM llm_wait") == 0


@pytest.mark.parametrize(
    ("limits", "spent_words", "remedy"),
    [
        ({"max_llm_calls": 3}, "used 3 language model calls, and its limit is 3", "--max-llm-calls 6"),
        ({"max_tokens": 60}, "used 75 tokens, and its limit is 60", "--max-tokens 120"),
    ],
)
async def test_a_run_pays_for_no_more_than_its_budget(
    asking: Asking, limits: dict[str, int], spent_words: str, remedy: str
) -> None:
    run_id = asking.claims[0].run_id
    await asking.limit(**limits)
    server, process = Server(), asking.process(calls=2)
    spent: list[BudgetSpent] = []

    for of in range(5):
        try:
            await asking.ask(process, of, server)
        except BudgetSpent as error:
            spent.append(error)

    assert (len(server.began), len(spent)) == (3, 2)
    assert str(spent[0]).startswith(f"r{run_id} has {spent_words}. `ragq resume r{run_id} {remedy}`")
    assert await asking.permits() == 0


async def test_the_permit_of_a_call_that_is_cancelled_is_free(asking: Asking) -> None:
    asked = asyncio.ensure_future(asking.ask(asking.process(calls=1), 0, Server(call_s=60)))
    await asyncio.sleep(0.2)

    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)

    assert await asking.permits() == 0


async def test_the_permits_of_a_killed_worker_are_free_when_their_lease_ends_and_a_long_call_keeps_its_own(
    asking: Asking,
) -> None:
    killed = asking.process(calls=2)
    assert await killed.take(SERVER, "of a worker that was killed", 1) is None
    asked = asyncio.ensure_future(asking.ask(asking.process(calls=2), 0, Server(call_s=5.0)))
    await asyncio.sleep(1.0)
    assert await killed.take(SERVER, "one too many", 1) == (WaitReason.CALLS, 10.0)

    await asyncio.sleep(1.5)

    assert await killed.take(SERVER, "another", 1) is None
    assert await killed.take(SERVER, "one too many", 1) == (WaitReason.CALLS, 10.0)
    assert await asked == REPLY


async def test_a_long_refusal_ends_no_lease_and_a_shorter_one_does_not_shorten_it(asking: Asking) -> None:
    process = CallLimits(asking.database, limited_to(calls=1), asking.redis, lease_s=0.3)
    asked = asyncio.ensure_future(asking.ask(process, 0, Server(call_s=2.0)))
    await asyncio.sleep(0.2)

    errors = [refused(retry_after_s=wait_s) for wait_s in (30.0, 9.0)]
    servers = [Server(error, call_s=0.1) for error in errors]
    asks = [asking.ask(asking.process(), of, server) for of, server in enumerate(servers, start=1)]
    for error in await asyncio.gather(*asks, return_exceptions=True):
        assert isinstance(error, ServerBusy)
    busy = await process.take(SERVER, "another", 1)

    assert busy is not None and busy[0] is WaitReason.REFUSED and 20 < busy[1] < 30
    assert await asking.permits() == 1
    assert await asked == REPLY


async def test_no_more_calls_or_tokens_begin_in_a_minute_and_another_server_is_not_slowed(
    database: Database, redis: Redis
) -> None:
    for limits, reason in (
        (limited_to(requests=3), WaitReason.REQUESTS),
        (limited_to(tokens=300), WaitReason.TOKENS),
        (limited_to(requests=3, tokens=1_000), WaitReason.REQUESTS),
        (limited_to(tokens=3_000_000), WaitReason.TOKENS),
    ):
        await redis.flushdb()
        tokens = 3 * (limits.ragq_llm_tpm or 300) // 10
        servers = [CallLimits(database, limits, redis) for _ in range(2)]

        *found, last = [await servers[number % 2].take(SERVER, str(number), tokens) for number in range(4)]

        assert found == [None] * 3
        assert last is not None and (last[0], 55 < last[1] <= 60) == (reason, True)
        assert await servers[0].take("http://other/v1", "1", tokens) is None


async def test_a_call_that_is_larger_than_the_limit_is_made_when_no_other_was(database: Database, redis: Redis) -> None:
    servers = CallLimits(database, limited_to(tokens=50), redis)
    assert await servers.take(SERVER, "1", 80) is None
    assert await servers.take(SERVER, "2", 80) is not None


async def test_limits_hold_calls_back_while_the_broker_is_away_and_nothing_else_does(database: Database) -> None:
    async with Redis.from_url("redis://127.0.0.1:1/0") as away:
        limited, open_ = (CallLimits(database, limits, away) for limits in (limited_to(calls=1), ProcessSettings()))
        assert await limited.take(SERVER, "1", 1) == (WaitReason.CALLS, 5.0)
        assert await open_.take(SERVER, "1", 1) is None


def test_limits_without_redis_are_refused_in_words() -> None:
    assert client("amqp://broker/ragq", ProcessSettings()) is None
    remedy = "Redis or Valkey in REDIS_URL, or unset RAGQ_LLM_CONCURRENCY, RAGQ_LLM_RPM and RAGQ_LLM_TPM"
    with pytest.raises(StackError, match=remedy):
        client("amqp://broker/ragq", limited_to(requests=1))
