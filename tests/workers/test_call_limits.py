"""Calls of several processes within the limits of their server and their run."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import LLMError
from schemas.settings.process import LLMLimits
from schemas.statuses import WaitReason
from schemas.values.chat import ChatCall, ChatReply, Message
from schemas.values.model_identities import ModelIdentity
from schemas.values.run_limits import RunLimits
from store.database import Database
from store.runs import llm_permits, put_off, run_limits, stages
from store.runs.llm_permits import Caller
from store.runs.runs import StoredRun
from store.runs.stages import Claim
from workers import call_limits
from workers.call_limits import MOST_REFUSALS, CallLimits
from workers.put_off import BudgetSpent, ServerBusy
from workers.waiting_line import WaitingLine

StoreRun = Callable[..., Awaitable[StoredRun]]

SERVER = "http://gpu:8000/v1"
CALL = ChatCall(model="m", messages=(Message(role="user", content="Is it so?"),), max_tokens=10)
REPLY = ChatReply(text="yes", model="m", digest="", stop_reason="stop", prompt_tokens=20, reply_tokens=5, seconds=0.1)


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
async def claims(database: Database, store_run: StoreRun) -> Sequence[Claim]:
    """Stages that a worker holds."""
    stored = await store_run(*map(str, range(301, 313)))
    async with database.connection() as connection:
        found = [await stages.claim(connection, job_id, "extract", "worker", 60) for job_id in stored.job_ids]
    return [claim for claim in found if claim is not None]


def caller(claim: Claim) -> Caller:
    return Caller(claim.run_id, claim.job_id, claim.stage, claim.fence)


def refused(status: int = 429, retry_after_s: float | None = None) -> LLMError:
    return LLMError("Not now.", status=status, retry_after_s=retry_after_s)


async def test_two_processes_keep_one_limit_of_calls_and_leave_no_slot_empty(
    database: Database, claims: Sequence[Claim]
) -> None:
    server = Server(call_s=0.1)
    processes = [CallLimits(database, LLMLimits(calls=4)) for _ in range(2)]

    async with asyncio.TaskGroup() as group:
        for number, claim in enumerate(claims):
            group.create_task(processes[number % 2].ask(caller(claim), SERVER, CALL, server.send))

    assert (len(server.began), server.most_at_once) == (12, 4)
    # Three turns of four calls, the last of which begins after 0.2 s; one call at a time would begin it after 1.1 s.
    assert server.began[-1] - server.began[0] < 1.0


async def test_a_stage_that_has_to_wait_for_long_is_given_back_after_a_second(
    database: Database, claims: Sequence[Claim]
) -> None:
    server = Server()
    limits = CallLimits(database, LLMLimits(requests=1))
    await limits.ask(caller(claims[0]), SERVER, CALL, server.send)
    began = time.monotonic()

    asked = [limits.ask(caller(claim), SERVER, CALL, server.send) for claim in claims[1:5]]
    errors = await asyncio.gather(*asked, return_exceptions=True)

    assert 0.9 < time.monotonic() - began < 30
    assert len(server.began) == 1
    for error in errors:
        assert isinstance(error, ServerBusy)
        assert (error.server, error.reason) == (SERVER, WaitReason.REQUESTS)
        assert 55 < error.wait_s < 61


async def test_a_quarter_as_many_as_are_permitted_stay_for_the_next_slot_and_the_others_are_given_back(
    database: Database, claims: Sequence[Claim]
) -> None:
    server = Server(call_s=2.5)
    process = CallLimits(database, LLMLimits(calls=4))

    asked = [process.ask(caller(claim), SERVER, CALL, server.send) for claim in claims[:8]]
    found = await asyncio.gather(*asked, return_exceptions=True)

    assert Counter(map(type, found)) == {ChatReply: 5, ServerBusy: 3}
    assert {one.reason for one in found if isinstance(one, ServerBusy)} == {WaitReason.CALLS}


async def test_a_refusal_holds_back_every_process_until_its_time(database: Database, claims: Sequence[Claim]) -> None:
    server = Server(refused(retry_after_s=0.7))
    first, second = (CallLimits(database, LLMLimits()) for _ in range(2))
    asked = asyncio.ensure_future(first.ask(caller(claims[0]), SERVER, CALL, server.send))
    await asyncio.sleep(0.2)

    await second.ask(caller(claims[1]), SERVER, CALL, server.send)

    assert (await asked).text == "yes"
    assert len(server.began) == 3
    assert min(server.began[1:]) - server.began[0] >= 0.65


async def test_a_long_refusal_gives_the_stage_back_and_counts_for_no_budget(
    database: Database, claims: Sequence[Claim]
) -> None:
    async with database.connection() as connection:
        await run_limits.keep(connection, claims[0].run_id, RunLimits(max_llm_calls=1))
    limits = CallLimits(database, LLMLimits(calls=1))

    with pytest.raises(ServerBusy) as busy:
        await limits.ask(caller(claims[0]), SERVER, CALL, Server(refused(503, 30.0)).send)

    assert (busy.value.reason, busy.value.refusals) == (WaitReason.REFUSED, 1)
    assert 28 < busy.value.wait_s <= 30
    async with database.connection() as connection:
        await connection.execute("DELETE FROM llm_server")
        assert await connection.fetchval("SELECT count(*) FROM llm_permit") == 0
    assert await limits.ask(caller(claims[0]), SERVER, CALL, Server().send) == REPLY


@pytest.mark.parametrize("error", [refused(503), refused(500), LLMError("Bad.", status=400)])
async def test_other_errors_end_the_call(database: Database, claims: Sequence[Claim], error: LLMError) -> None:
    with pytest.raises(LLMError) as raised:
        await CallLimits(database, LLMLimits(calls=1)).ask(caller(claims[0]), SERVER, CALL, Server(error).send)

    assert raised.value is error
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM llm_permit") == 0


async def test_a_call_that_is_refused_too_often_fails(database: Database, claims: Sequence[Claim]) -> None:
    async with database.connection() as connection:
        await put_off.wait(
            connection, claims[0], server=SERVER, reason=WaitReason.REFUSED, wait_s=0, refusals=MOST_REFUSALS - 1
        )

    with pytest.raises(LLMError):
        await CallLimits(database, LLMLimits()).ask(caller(claims[0]), SERVER, CALL, Server(refused()).send)


async def test_a_server_that_refuses_even_its_list_of_models_is_waited_for(
    database: Database, claims: Sequence[Claim]
) -> None:
    limits, error = CallLimits(database, LLMLimits()), refused(retry_after_s=9.0)

    async def find() -> ModelIdentity:
        raise error

    with pytest.raises(ServerBusy) as busy:
        await limits.look_up(caller(claims[0]), find)
    assert (busy.value.wait_s, busy.value.refusals) == (9.0, 1)
    async with database.connection() as connection:
        await put_off.wait(
            connection, claims[0], server=SERVER, reason=WaitReason.REFUSED, wait_s=0, refusals=MOST_REFUSALS - 1
        )
    with pytest.raises(LLMError):
        await limits.look_up(caller(claims[0]), find)


async def test_a_stage_that_got_its_answer_waits_no_more(database: Database, claims: Sequence[Claim]) -> None:
    async with database.connection() as connection:
        await put_off.wait(connection, claims[0], server=SERVER, reason=WaitReason.REFUSED, wait_s=0, refusals=1)

        await CallLimits(database, LLMLimits()).ask(caller(claims[0]), SERVER, CALL, Server().send)

        assert await connection.fetchval("SELECT count(*) FROM llm_wait") == 0


@pytest.mark.parametrize(
    ("limits", "sent", "spent_words", "remedy"),
    [
        (RunLimits(max_llm_calls=3), 3, "used 3 language model calls, and its limit is 3", "--max-llm-calls 6"),
        (RunLimits(max_tokens=60), 3, "used 75 tokens, and its limit is 60", "--max-tokens 120"),
    ],
)
async def test_a_run_pays_for_no_more_than_its_budget(
    database: Database, claims: Sequence[Claim], limits: RunLimits, sent: int, spent_words: str, remedy: str
) -> None:
    run_id = claims[0].run_id
    async with database.connection() as connection:
        await run_limits.keep(connection, run_id, limits)
    server, process = Server(), CallLimits(database, LLMLimits(calls=2))
    spent: list[BudgetSpent] = []

    for claim in claims[:5]:
        try:
            await process.ask(caller(claim), SERVER, CALL, server.send)
        except BudgetSpent as error:
            spent.append(error)

    assert (len(server.began), len(spent)) == (sent, 5 - sent)
    assert str(spent[0]).startswith(f"r{run_id} has {spent_words}. `ragq resume r{run_id} {remedy}`")
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM llm_permit") == 0


async def test_who_waited_before_comes_before_who_comes_later(
    database: Database, claims: Sequence[Claim], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_limits, "IN_PLACE_S", 30.0)
    order: list[int] = []
    all_wait = asyncio.Event()
    limits = CallLimits(database, LLMLimits(calls=1))
    async with database.connection() as connection:
        await put_off.wait(connection, claims[3], server=SERVER, reason=WaitReason.CALLS, wait_s=0, refusals=0)
        returned = await stages.claim(connection, claims[3].job_id, "extract", "worker", 60)
        assert returned is not None

    async def ask(claim: Claim) -> None:
        async def send() -> ChatReply:
            order.append(claim.job_id)
            await all_wait.wait()
            return REPLY

        await limits.ask(caller(claim), SERVER, CALL, send)

    async with asyncio.TaskGroup() as group:
        for claim in (*claims[:3], returned):
            group.create_task(ask(claim))
            await asyncio.sleep(0.1)
        await asyncio.sleep(1.0)
        all_wait.set()

    assert order == [claims[0].job_id, returned.job_id, claims[1].job_id, claims[2].job_id]


async def test_the_permit_of_a_call_that_is_cancelled_is_free(database: Database, claims: Sequence[Claim]) -> None:
    process = CallLimits(database, LLMLimits(calls=1))
    asked = asyncio.ensure_future(process.ask(caller(claims[0]), SERVER, CALL, Server(call_s=60).send))
    await asyncio.sleep(0.2)

    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)

    async with database.connection() as connection:
        turn = await llm_permits.take(connection, SERVER, caller(claims[1]), 1, LLMLimits(calls=1))
        assert turn.reason is None


@given(st.lists(st.floats(0, 100, allow_nan=False), min_size=1, max_size=30), st.randoms())
def test_a_line_serves_in_the_order_of_waiting_whoever_leaves(since: list[float], chance: random.Random) -> None:
    line = WaitingLine()
    places = [line.join(one) for one in since]
    for place in chance.sample(places, len(places) // 2):
        line.leave(place)
        places.remove(place)
    served = []
    while len(line):
        (first,) = [place for place in places if not line.before(place)]
        served.append(first)
        line.leave(first)
        places.remove(first)

    assert served == sorted(served)


@pytest.mark.parametrize("seed", range(5))
def test_no_stage_starves_among_stages_that_come_for_ever(seed: int) -> None:
    """Two processes of four threads share one permit of a call of a second, and as many stages come as are served.

    Of the two that are first in their process, chance decides. A stage that waited for a second is given back and comes
    again, with its place of before; the others stay in the queue.
    """
    chance = random.Random(seed)
    queue, since, waited = list(range(30)), dict[int, int](), list[int]()
    for now in range(600):
        queue.append(1000 + now)
        lines = [WaitingLine(), WaitingLine()]
        taken, queue = queue[:8], queue[8:]
        places = [
            (stage, line, line.join(since.setdefault(stage, now)))
            for number, stage in enumerate(taken)
            for line in [lines[number % 2]]
        ]
        served = chance.choice([stage for stage, line, place in places if not line.before(place)])
        waited.append(now - since[served])
        given_back = [stage for stage in taken if stage != served]
        chance.shuffle(given_back)
        queue = given_back + queue if chance.random() < 0.5 else queue + given_back

    assert max(waited) <= 3 * 38
    oldest = [now for stage, now in since.items() if stage in queue]
    assert 600 - min(oldest) <= 3 * 38
