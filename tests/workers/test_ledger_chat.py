"""The ledger between a stage and its model: a call is paid once and reused, except after a rejection."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from schemas.errors import FailureCategory
from schemas.settings.process import LLMLimits
from schemas.values.chat import ChatCall, ChatReply, Message, ModelIdentity
from stages.ports import ChatModel, OnText
from store.database import Database
from store.runs import call_costs, ledger, stages
from store.runs.stages import Claim
from tests.fakes.chat import ScriptedChat, served
from tests.refusals import failing
from tests.store.conftest import StoreRun
from tests.store.scored import claimed
from workers.call_limits import CallLimits
from workers.ledger_chat import CallLedger, LedgerChat

CALL = ChatCall(model="m", messages=(Message(role="user", content="Is it so?"),), purpose="validate PHQ8_Sleep rank 1")


def alone(model: ChatModel, database: Database, claim: Claim, draw: int = 0) -> LedgerChat:
    """A ledger as a process of its own has it."""
    return LedgerChat(model, calls_of(database), claim, draw)


def calls_of(database: Database) -> CallLedger:
    return CallLedger(database, CallLimits(database, LLMLimits()))


@pytest.fixture
async def attempts(database: Database, store_run: StoreRun) -> list[Claim]:
    """The open attempts of two jobs."""
    stored = await store_run("316", "319")
    async with database.connection() as connection:
        claims = [await stages.claim(connection, job_id, "extract", "worker", 60) for job_id in stored.job_ids]
    return [claim for claim in claims if claim is not None]


@pytest.fixture
async def two_runs(database: Database, store_run: StoreRun) -> list[Claim]:
    """An open attempt of each of two runs."""
    found = []
    for stored in [await store_run("316"), await store_run("316")]:
        async with database.connection() as connection:
            claim = await claimed(connection, stored.job_ids[0], "extract")
        found.append(claim)
    return found


async def uses(database: Database, attempt: Claim) -> list[tuple[str, str | None, bool]]:
    async with database.connection() as connection:
        found = await call_costs.of_attempts(connection, [attempt.attempt_id])
    return [(use.purpose, use.reply, use.is_reused) for use in found[attempt.attempt_id]]


async def test_a_call_is_paid_for_once_and_every_use_is_noted(database: Database, attempts: list[Claim]) -> None:
    model = ScriptedChat(lambda call: "yes")
    first, second = (alone(model, database, attempt) for attempt in attempts)

    paid, kept = await first.chat(CALL), await second.chat(CALL.model_copy(update={"timeout_s": 5.0}))

    assert (paid.text, kept.text, len(model.calls)) == ("yes", "yes", 1)
    assert [await uses(database, attempt) for attempt in attempts] == [
        [(CALL.purpose, "yes", False)],
        [(CALL.purpose, "yes", True)],
    ]


async def test_whatever_can_change_the_answer_makes_another_call(database: Database, attempts: list[Claim]) -> None:
    model = ScriptedChat(lambda call: "yes")
    chat = alone(model, database, attempts[0])
    await chat.chat(CALL)
    changes: list[dict[str, object]] = [
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
        await chat.chat(CALL.model_copy(update=change))

        assert (change, len(model.calls)) == (change, made)


@dataclass
class Served(ScriptedChat):
    """A model with an identity that the test chooses."""

    by: ModelIdentity = field(default_factory=served)

    async def identity(self, model: str) -> ModelIdentity:
        return self.by


@pytest.mark.parametrize(
    "other",
    [
        served(digest="other weights"),
        served(server="http://elsewhere:11434"),
        served(backend="another"),
    ],
    ids=["digest", "server", "backend"],
)
async def test_an_answer_of_another_model_or_server_is_not_reused(
    database: Database, two_runs: list[Claim], other: ModelIdentity
) -> None:
    old, new = Served(lambda call: "yes"), Served(lambda call: "no", by=other)

    await alone(old, database, two_runs[0]).chat(CALL)

    assert (await alone(new, database, two_runs[1]).chat(CALL)).text == "no"


async def test_each_draw_has_answers_of_its_own_and_reuses_them(database: Database, two_runs: list[Claim]) -> None:
    model = ScriptedChat(lambda call: f"seed {call.seed}")

    texts = [
        (await alone(model, database, attempt, draw=draw).chat(CALL)).text for attempt in two_runs for draw in (0, 1, 2)
    ]

    assert (len(model.calls), texts[:3] == texts[3:], len(set(texts)), texts[0]) == (3, True, 3, "seed 0")


async def test_a_run_whose_model_changes_fails_and_names_both(database: Database, attempts: list[Claim]) -> None:
    await alone(Served(lambda call: "yes"), database, attempts[0]).chat(CALL)
    changed = Served(lambda call: "no", by=served(digest="other weights"))

    with failing(FailureCategory.MODEL_CHANGED, r"digest d .*digest other weights .*`ragq retry r\d+`.*`--new`"):
        await alone(changed, database, attempts[1]).chat(CALL)

    assert changed.calls == []


async def test_a_rejected_reply_is_kept_and_not_reused(database: Database, attempts: list[Claim]) -> None:
    answers = iter(["nonsense", "yes"])
    model = ScriptedChat(lambda call: next(answers))
    await alone(model, database, attempts[0]).chat(CALL)
    async with database.connection() as connection:
        await ledger.reject_last(connection, attempts[0].attempt_id)

    assert (await alone(model, database, attempts[1]).chat(CALL)).text == "yes"
    assert await uses(database, attempts[0]) == [(CALL.purpose, "nonsense", False)]


async def test_of_two_concurrent_answers_both_callers_get_the_stored_one(
    database: Database, attempts: list[Claim]
) -> None:
    together = asyncio.Barrier(2)
    numbers = iter(["first", "second"])

    class Together(ScriptedChat):
        async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
            await together.wait()
            return await super().chat(call, on_text)

    model = Together(lambda call: next(numbers))
    replies = await asyncio.gather(*(alone(model, database, attempt).chat(CALL) for attempt in attempts))

    assert len(model.calls) == 2
    assert replies[0].text == replies[1].text


async def test_a_reply_that_postgres_cannot_hold_is_the_same_when_it_is_paid_and_when_it_is_found(
    database: Database, attempts: list[Claim]
) -> None:
    model = ScriptedChat(lambda call: "yes\0 \ud83d maybe")
    first, second = (alone(model, database, attempt) for attempt in attempts)

    assert [(await chat.chat(CALL)).text for chat in (first, second)] == ["yes ? maybe", "yes ? maybe"]


async def test_a_call_that_raised_leaves_nothing_behind(database: Database, attempts: list[Claim]) -> None:
    def refuse(call: ChatCall) -> str:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await alone(ScriptedChat(refuse), database, attempts[0]).chat(CALL)

    assert await uses(database, attempts[0]) == []


async def test_of_equal_calls_at_the_same_time_in_one_process_one_is_paid_for(
    database: Database, attempts: list[Claim]
) -> None:
    model, under_way = ScriptedChat(lambda call: "yes", delay_s=0.2), calls_of(database)

    replies = await asyncio.gather(*(LedgerChat(model, under_way, attempt).chat(CALL) for attempt in attempts))

    assert ([reply.text for reply in replies], len(model.calls)) == (["yes", "yes"], 1)
    reused = [is_reused for attempt in attempts for _, _, is_reused in await uses(database, attempt)]
    assert sorted(reused) == [False, True]


async def test_when_the_first_of_equal_calls_fails_the_next_asks_itself(
    database: Database, attempts: list[Claim]
) -> None:
    answers: Iterator[ConnectionError | str] = iter([ConnectionError(), "yes"])

    def answer(call: ChatCall) -> str:
        found = next(answers)
        if isinstance(found, ConnectionError):
            raise found
        return found

    model, under_way = ScriptedChat(answer), calls_of(database)

    first, second = await asyncio.gather(
        *(LedgerChat(model, under_way, attempt).chat(CALL) for attempt in attempts),
        return_exceptions=True,
    )

    assert isinstance(first, ConnectionError)
    assert isinstance(second, ChatReply)
