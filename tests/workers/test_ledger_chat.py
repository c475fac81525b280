"""The ledger between a stage and its model: a call is paid once and reused, and after a rejection not repeated."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from schemas.errors import FailureCategory, LLMError, LLMResponseParseError
from schemas.values.base import Value
from schemas.values.chat import ChatCall, ChatReply, Message, ModelIdentity
from stages.ports import ChatModel, OnText
from stages.replies.asking import ask_until_usable
from store.database import Database
from store.runs import attempts, call_costs, jobs, ledger
from store.runs.call_costs import CallUse
from store.runs.stages import Claim
from tests.fakes.chat import ScriptedChat, served
from tests.refusals import failing
from tests.store.conftest import StoreRun
from tests.store.scored import claimed
from tests.workers.processes import ModelAlone, stage_runner
from workers.leases import ServerBusy
from workers.ledger_chat import CallLedger, LedgerChat
from workers.work import Result, StageFunction, Work

CALL = ChatCall(model="m", messages=(Message(role="user", content="Is it so?"),), purpose="validate PHQ8_Sleep rank 1")


@dataclass
class Served(ScriptedChat):
    by: ModelIdentity = field(default_factory=served)

    async def identity(self, model: str) -> ModelIdentity:
        return self.by


def saying(text: str, **fields: Any) -> Served:
    return Served(lambda call: text, **fields)


@dataclass
class Paying:
    """Open attempts: two of one run, and one of another."""

    database: Database
    claims: list[Claim]

    @property
    def calls(self) -> CallLedger:
        """The calls of a process of its own."""
        return ModelAlone(self.database, None).calls

    async def ask(
        self, model: ChatModel, of: int = 0, /, *, draw: int = 0, calls: CallLedger | None = None, **changes: Any
    ) -> str:
        chat = LedgerChat(model, calls or self.calls, self.claims[of], draw)
        return (await chat.chat(CALL.model_copy(update=changes))).text

    async def uses(self, *of: int) -> list[tuple[str, str | None, bool]]:
        attempt_ids = [self.claims[one].attempt_id for one in of]
        found = await self.database.ask(call_costs.of_attempts, attempt_ids)
        return [(use.purpose, use.reply, use.is_reused) for one in attempt_ids for use in found[one]]


@pytest.fixture
async def paying(database: Database, store_run: StoreRun) -> Paying:
    job_ids = [*(await store_run("316", "319")).job_ids, *(await store_run("316")).job_ids]
    return Paying(database, [await database.ask(claimed, job_id) for job_id in job_ids])


async def test_a_call_is_paid_for_once_and_every_use_is_noted(paying: Paying) -> None:
    model = saying("yes")

    texts = [await paying.ask(model), await paying.ask(model, 1, timeout_s=5.0)]

    assert (texts, len(model.calls)) == (["yes", "yes"], 1)
    assert await paying.uses(0, 1) == [(CALL.purpose, "yes", False), (CALL.purpose, "yes", True)]


async def test_whatever_can_change_the_answer_makes_another_call(paying: Paying) -> None:
    model = saying("yes")
    await paying.ask(model)
    changes: list[dict[str, Any]] = [
        {"model": "other"},
        {"messages": (Message(role="user", content="Is it not so?"),)},
        {"temperature": 0.5},
        {"json_mode": True},
        {"json_schema": {"type": "object"}},
        {"max_tokens": 5},
        {"sample": 1},
        {"top_logprobs": 5},
    ]
    for made, change in enumerate(changes, start=2):
        await paying.ask(model, **change)

        assert (change, len(model.calls)) == (change, made)


@pytest.mark.parametrize("field", ["digest", "server", "backend"])
async def test_an_answer_of_another_model_or_server_is_not_reused(paying: Paying, field: str) -> None:
    await paying.ask(saying("yes"))

    assert await paying.ask(saying("no", by=served(**{field: "http://another"})), 2) == "no"


async def test_each_draw_has_answers_of_its_own_and_reuses_them(paying: Paying) -> None:
    model = ScriptedChat(lambda call: f"seed {call.seed}")

    texts = [await paying.ask(model, of, draw=draw) for of in (0, 2) for draw in (0, 1, 2)]

    assert (len(model.calls), texts[:3] == texts[3:], len(set(texts)), texts[0]) == (3, True, 3, "seed 0")


async def test_a_run_whose_model_changes_fails_and_names_both(paying: Paying) -> None:
    await paying.ask(saying("yes"))
    changed = saying("no", by=served(digest="other weights"))

    with failing(FailureCategory.MODEL_CHANGED, r"digest d .*digest other weights .*`ragq retry r\d+`.*`--new`"):
        await paying.ask(changed, 1)

    assert changed.calls == []


async def test_a_server_that_refuses_its_list_of_models_is_waited_for(paying: Paying) -> None:
    class Busy(ScriptedChat):
        async def identity(self, model: str) -> ModelIdentity:
            raise LLMError("Not now.", status=429, retry_after_s=9.0)

    with pytest.raises(ServerBusy):
        await paying.ask(Busy(lambda call: "yes"))


async def test_a_rejected_reply_is_kept_and_not_reused(paying: Paying) -> None:
    answers = iter(["nonsense", "yes"])
    model = ScriptedChat(lambda call: next(answers))
    await paying.ask(model)
    await paying.database.ask(ledger.reject_last, paying.claims[0].attempt_id)

    assert await paying.ask(model, 1) == "yes"
    assert await paying.uses(0) == [(CALL.purpose, "nonsense", False)]


async def test_of_two_concurrent_answers_both_callers_get_the_stored_one(paying: Paying) -> None:
    together = asyncio.Barrier(2)
    numbers = iter(["first", "second"])

    class Together(ScriptedChat):
        async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
            await together.wait()
            return await super().chat(call, on_text)

    model = Together(lambda call: next(numbers))
    texts = await asyncio.gather(paying.ask(model), paying.ask(model, 1))

    assert (len(model.calls), texts[0]) == (2, texts[1])


async def test_a_reply_that_postgres_cannot_hold_is_the_same_when_paid_and_when_found(paying: Paying) -> None:
    model = saying("yes\0 \ud83d maybe")

    assert [await paying.ask(model, of) for of in (0, 1)] == ["yes ? maybe", "yes ? maybe"]


async def test_of_equal_calls_at_the_same_time_in_one_process_one_is_paid_for(paying: Paying) -> None:
    model, calls = saying("yes", delay_s=0.2), paying.calls

    texts = await asyncio.gather(*(paying.ask(model, of, calls=calls) for of in (0, 1)))

    assert (texts, len(model.calls)) == (["yes", "yes"], 1)
    assert sorted(is_reused for _, _, is_reused in await paying.uses(0, 1)) == [False, True]


async def test_when_the_first_of_equal_calls_fails_it_leaves_nothing_and_the_next_asks_itself(paying: Paying) -> None:
    def answer(call: ChatCall) -> str:
        if len(model.calls) == 1:
            raise ConnectionError
        return "yes"

    model, calls = ScriptedChat(answer), paying.calls

    replies = await asyncio.gather(*(paying.ask(model, of, calls=calls) for of in (0, 1)), return_exceptions=True)

    # Which of the two asks first is decided by the database.
    first = 0 if isinstance(replies[0], ConnectionError) else 1
    assert isinstance(replies[first], ConnectionError)
    assert await paying.uses(first) == []
    assert replies[1 - first] == "yes"


ASKED = ChatCall(model="m", messages=(Message(role="user", content="A number?"),), purpose="ask")


class Number(Value):
    number: int


def number(text: str) -> Number:
    if text.isdigit():
        return Number(number=int(text))
    raise LLMResponseParseError(text, "it is no number")


async def corrected(work: Work) -> Result[Number]:
    return Result((await ask_until_usable(ASKED, chat=work.chat, read=number, form="a number", retries=1)).read)


async def asked_once(work: Work) -> Result[Number]:
    return Result(number((await work.resampling_chat.chat(ASKED)).text))


@dataclass
class Retried:
    """A job of one stage that asks a model, which answers with a word at first."""

    database: Database
    job_id: int
    model: Served
    run: Callable[[StageFunction], Awaitable[object]]

    async def fail(self, function: StageFunction, times: int = 1) -> None:
        """Run the stage, which cannot use the replies, and retry it."""
        for _ in range(times):
            with pytest.raises(LLMResponseParseError):
                await self.run(function)
            await self.database.ask(jobs.retry, job_id=self.job_id)

    async def execute(self, sql: str) -> None:
        async with self.database.connection() as connection:
            await connection.execute(sql)

    async def uses(self) -> list[list[CallUse]]:
        return [attempt.calls for attempt in await self.database.ask(attempts.history, self.job_id)]


@pytest.fixture
async def retried(database: Database, store_run: StoreRun) -> AsyncIterator[Retried]:
    (job_id,) = (await store_run("316")).job_ids
    model = saying("seven")
    functions: dict[tuple[str, str, str], StageFunction] = {}
    with stage_runner(database, functions, ModelAlone(database, model)) as runner:

        def run(function: StageFunction) -> Awaitable[object]:
            functions["participant", "few_shot", "extract"] = function
            return runner.run("extract", job_id, is_redelivered=False)

        yield Retried(database, job_id, model, run)


async def test_a_retry_sends_all_rejected_replies_back_and_pays_for_no_request_twice(retried: Retried) -> None:
    await retried.fail(corrected, times=2)
    retried.model.answer = lambda call: "7"

    await retried.run(corrected)

    failed, _, again = await retried.uses()
    assert [(use.purpose, use.is_rejected) for use in failed] == [("ask", True), ("ask, re-ask 1", True)]
    before = [f"{asked}, rejected before" for asked in ("ask", "ask, re-ask 1", "ask, re-ask 2")]
    reused = [(purpose, True) for purpose in before]
    assert [(use.purpose, use.is_reused) for use in again] == [*reused, ("ask, re-ask 3", False)]
    assert [len(call.messages) for call in retried.model.calls] == [1, 3, 5, 7]


async def test_a_stage_that_asks_once_gets_another_sample(retried: Retried) -> None:
    await retried.fail(asked_once, times=2)
    retried.model.answer = lambda call: "7"

    await retried.run(asked_once)

    assert [call.sample for call in retried.model.calls] == [0, 1, 2]
    samples = [f"ask, sample {number} because an earlier reply was rejected" for number in (2, 3)]
    assert [use.purpose for of_attempt in await retried.uses() for use in of_attempt] == ["ask", *samples]


async def test_other_weights_are_asked_the_same_again(retried: Retried) -> None:
    # A question that is asked by itself is not held to the weights it began with.
    await retried.execute("UPDATE run SET kind = 'query'")
    await retried.fail(corrected)
    retried.model.by, retried.model.answer = served(digest="other weights"), lambda call: "7"

    await retried.run(corrected)

    assert [len(call.messages) for call in retried.model.calls] == [1, 3, 1]


async def test_only_the_calls_of_the_failed_exchange_are_rejected(retried: Retried) -> None:
    retried.model.answer = lambda call: "7" if call.messages[0].content == "First?" else "seven"

    async def two(work: Work) -> Result[Number]:
        first = ASKED.model_copy(update={"messages": (Message(role="user", content="First?"),)})
        await ask_until_usable(first, chat=work.chat, read=number, form="a number", retries=1)
        return await corrected(work)

    await retried.fail(two)

    (failed,) = await retried.uses()
    assert [use.is_rejected for use in failed] == [False, True, True]


async def test_a_stage_that_lost_its_lease_rejects_no_reply(retried: Retried) -> None:
    async def overtaken(work: Work) -> Result[Number]:
        await retried.execute("UPDATE stage_run SET fence = fence + 1")
        return await asked_once(work)

    with pytest.raises(LLMResponseParseError):
        await retried.run(overtaken)

    ((paid,),) = await retried.uses()
    assert not paid.is_rejected
