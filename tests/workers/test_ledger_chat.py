"""The ledger between a stage and its model: a call is paid once and reused, except after a rejection."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from schemas.values.chat import ChatCall, ChatReply, Message, TokenSignals
from stages.ports import ChatModel
from store.database import Database
from store.runs import ledger, stages
from store.runs.runs import StoredRun
from tests.fakes.chat import ScriptedChat
from workers.ledger_chat import InFlightCalls, LedgerChat

StoreRun = Callable[..., Awaitable[StoredRun]]

CALL = ChatCall(model="m", messages=(Message(role="user", content="Is it so?"),), purpose="validate PHQ8_Sleep rank 1")


def alone(model: ChatModel, database: Database, attempt_id: int) -> LedgerChat:
    """A ledger as a process of its own has it."""
    return LedgerChat(model, database, attempt_id, InFlightCalls())


@pytest.fixture
async def attempt_ids(database: Database, store_run: StoreRun) -> list[int]:
    """The open attempts of two jobs."""
    stored = await store_run("316", "319")
    async with database.connection() as connection:
        claims = [await stages.claim(connection, job_id, "extract", "worker", 60) for job_id in stored.job_ids]
    return [claim.attempt_id for claim in claims if claim is not None]


async def uses(database: Database, attempt_id: int) -> list[tuple[str, str, bool]]:
    async with database.connection() as connection:
        found = await ledger.uses(connection, [attempt_id])
    return [(use.purpose, use.reply, use.is_reused) for use in found[attempt_id]]


async def test_a_call_is_paid_for_once_and_every_use_is_noted(database: Database, attempt_ids: list[int]) -> None:
    model = ScriptedChat(lambda call: "yes")
    first, second = (alone(model, database, attempt_id) for attempt_id in attempt_ids)

    paid, kept = await first.chat(CALL), await second.chat(CALL.model_copy(update={"timeout_s": 5.0}))

    assert (paid.text, kept.text, len(model.calls)) == ("yes", "yes", 1)
    assert [await uses(database, attempt_id) for attempt_id in attempt_ids] == [
        [(CALL.purpose, "yes", False)],
        [(CALL.purpose, "yes", True)],
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"messages": (Message(role="user", content="Is it not so?"),)},
        {"temperature": 0.5},
        {"json_mode": True},
        {"json_schema": {"type": "object"}},
        {"max_tokens": 5},
        {"sample": 1},
        {"top_logprobs": 5},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_whatever_can_change_the_answer_makes_another_call(
    database: Database, attempt_ids: list[int], change: dict[str, object]
) -> None:
    model = ScriptedChat(lambda call: "yes")
    chat = alone(model, database, attempt_ids[0])

    await chat.chat(CALL)
    await chat.chat(CALL.model_copy(update=change))

    assert len(model.calls) == 2


async def test_a_reused_call_gives_the_same_token_signals(database: Database, attempt_ids: list[int]) -> None:
    signals = TokenSignals(msp=0.1 + 0.2, pe=0.25, energy=-1e-9)
    model = ScriptedChat(lambda call: "yes", tokens=signals)
    asking = CALL.model_copy(update={"top_logprobs": 5})

    replies = [await alone(model, database, attempt_id).chat(asking) for attempt_id in attempt_ids]

    assert ([reply.tokens for reply in replies], len(model.calls)) == ([signals, signals], 1)


async def test_absent_token_signals_are_not_filled_in(database: Database, attempt_ids: list[int]) -> None:
    model = ScriptedChat(lambda call: "yes")
    asking = CALL.model_copy(update={"top_logprobs": 5})

    replies = [await alone(model, database, attempt_id).chat(asking) for attempt_id in attempt_ids]

    assert [reply.tokens for reply in replies] == [None, None]


def test_a_call_that_asks_for_no_log_probabilities_keeps_its_key() -> None:
    assert ledger.call_key(CALL, "d") == "24806ffa96d993f135fa3189c76b69bc59abec1d508760c1bd031bd779ecad1e"


async def test_other_weights_under_the_same_name_are_asked_again(database: Database, attempt_ids: list[int]) -> None:
    class Updated(ScriptedChat):
        async def digest(self, model: str) -> str:
            return "other weights"

    old, new = ScriptedChat(lambda call: "yes"), Updated(lambda call: "no")

    await alone(old, database, attempt_ids[0]).chat(CALL)

    assert (await alone(new, database, attempt_ids[1]).chat(CALL)).text == "no"


async def test_a_rejected_reply_is_kept_and_not_reused(database: Database, attempt_ids: list[int]) -> None:
    answers = iter(["nonsense", "yes"])
    model = ScriptedChat(lambda call: next(answers))
    await alone(model, database, attempt_ids[0]).chat(CALL)
    async with database.connection() as connection:
        await ledger.reject_last(connection, attempt_ids[0])

    assert (await alone(model, database, attempt_ids[1]).chat(CALL)).text == "yes"
    assert await uses(database, attempt_ids[0]) == [(CALL.purpose, "nonsense", False)]


async def test_of_two_concurrent_answers_both_callers_get_the_stored_one(
    database: Database, attempt_ids: list[int]
) -> None:
    together = asyncio.Barrier(2)
    numbers = iter(["first", "second"])

    class Together(ScriptedChat):
        async def chat(self, call: ChatCall) -> ChatReply:
            await together.wait()
            return await super().chat(call)

    model = Together(lambda call: next(numbers))
    replies = await asyncio.gather(*(alone(model, database, attempt_id).chat(CALL) for attempt_id in attempt_ids))

    assert len(model.calls) == 2
    assert replies[0].text == replies[1].text


async def test_a_reply_that_postgres_cannot_hold_is_the_same_when_it_is_paid_and_when_it_is_found(
    database: Database, attempt_ids: list[int]
) -> None:
    model = ScriptedChat(lambda call: "yes\0 \ud83d maybe")
    first, second = (alone(model, database, attempt_id) for attempt_id in attempt_ids)

    assert [(await chat.chat(CALL)).text for chat in (first, second)] == ["yes ? maybe", "yes ? maybe"]


async def test_a_call_that_raised_leaves_nothing_behind(database: Database, attempt_ids: list[int]) -> None:
    def refuse(call: ChatCall) -> str:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await alone(ScriptedChat(refuse), database, attempt_ids[0]).chat(CALL)

    assert await uses(database, attempt_ids[0]) == []


async def test_of_equal_calls_at_the_same_time_in_one_process_one_is_paid_for(
    database: Database, attempt_ids: list[int]
) -> None:
    model, under_way = ScriptedChat(lambda call: "yes"), InFlightCalls()

    replies = await asyncio.gather(
        *(LedgerChat(model, database, attempt_id, under_way).chat(CALL) for attempt_id in attempt_ids)
    )

    assert ([reply.text for reply in replies], len(model.calls)) == (["yes", "yes"], 1)
    reused = [is_reused for attempt_id in attempt_ids for _, _, is_reused in await uses(database, attempt_id)]
    assert sorted(reused) == [False, True]


async def test_when_the_first_of_equal_calls_fails_the_next_asks_itself(
    database: Database, attempt_ids: list[int]
) -> None:
    answers: Iterator[ConnectionError | str] = iter([ConnectionError(), "yes"])

    def answer(call: ChatCall) -> str:
        found = next(answers)
        if isinstance(found, ConnectionError):
            raise found
        return found

    model, under_way = ScriptedChat(answer), InFlightCalls()

    first, second = await asyncio.gather(
        *(LedgerChat(model, database, attempt_id, under_way).chat(CALL) for attempt_id in attempt_ids),
        return_exceptions=True,
    )

    assert isinstance(first, ConnectionError)
    assert isinstance(second, ChatReply)
