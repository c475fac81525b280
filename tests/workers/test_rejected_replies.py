"""A retry of a stage whose replies were rejected: no request is repeated."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from schemas.errors import LLMResponseParseError
from schemas.values.base import Value
from schemas.values.chat import ChatCall, Message, ModelIdentity
from stages.replies.asking import ask_until_usable
from store.database import Database
from store.runs import attempts, jobs
from store.runs.call_costs import CallUse
from tests.fakes.chat import ScriptedChat, served
from tests.store.conftest import StoreRun
from tests.workers.processes import stage_runner, wiring_of
from workers.work import Result, StageFunction, Work

RunStage = Callable[[int, StageFunction], Awaitable[object]]

CALL = ChatCall(model="m", messages=(Message(role="user", content="A number?"),), purpose="ask")


class Number(Value):
    """An output."""

    number: int


def number(text: str) -> Number:
    if text.isdigit():
        return Number(number=int(text))
    raise LLMResponseParseError(text, "it is no number")


class Model(ScriptedChat):
    """A model whose weights may change under its name."""

    weights = "weights"

    async def identity(self, model: str) -> ModelIdentity:
        return served(model, self.weights)


async def corrected(work: Work) -> Result[Number]:
    return Result((await ask_until_usable(CALL, chat=work.chat, read=number, form="a number", retries=1)).read)


async def asked_once(work: Work) -> Result[Number]:
    return Result(number((await work.resampling_chat.chat(CALL)).text))


@pytest.fixture
def model() -> Model:
    return Model(lambda call: "seven")


@pytest.fixture
async def run_extract(database: Database, model: Model, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RunStage]:
    wiring = wiring_of(database)
    monkeypatch.setattr(wiring, "chat", lambda settings: model)
    functions: dict[tuple[str, str, str], StageFunction] = {}
    with stage_runner(database, functions, wiring) as runner:

        def run(job_id: int, function: StageFunction) -> Awaitable[object]:
            functions["participant", "few_shot", "extract"] = function
            return runner.run("extract", job_id, is_redelivered=False)

        yield run


async def uses(database: Database, job_id: int) -> list[list[CallUse]]:
    async with database.connection() as connection:
        return [attempt.calls for attempt in await attempts.history(connection, job_id)]


async def retry(database: Database, job_id: int) -> None:
    async with database.connection() as connection:
        await jobs.retry(connection, job_id=job_id)


async def test_a_retry_sends_the_rejected_replies_back_and_pays_for_no_request_twice(
    database: Database, store_run: StoreRun, run_extract: RunStage, model: Model
) -> None:
    (job_id,) = (await store_run("316")).job_ids
    with pytest.raises(LLMResponseParseError):
        await run_extract(job_id, corrected)
    await retry(database, job_id)
    model.answer = lambda call: "7"

    await run_extract(job_id, corrected)

    failed, retried = await uses(database, job_id)
    assert [(use.purpose, use.is_rejected) for use in failed] == [("ask", True), ("ask, re-ask 1", True)]
    assert [(use.purpose, use.is_reused) for use in retried] == [
        ("ask, rejected before", True),
        ("ask, re-ask 1, rejected before", True),
        ("ask, re-ask 2", False),
    ]
    assert [len(call.messages) for call in model.calls] == [1, 3, 5]


async def test_a_retry_that_fails_again_goes_on_from_all_rejected_replies(
    database: Database, store_run: StoreRun, run_extract: RunStage, model: Model
) -> None:
    (job_id,) = (await store_run("316")).job_ids
    for _ in range(3):
        with pytest.raises(LLMResponseParseError):
            await run_extract(job_id, corrected)
        await retry(database, job_id)

    assert [len(call.messages) for call in model.calls] == [1, 3, 5, 7]


async def test_a_stage_that_asks_once_gets_another_sample(
    database: Database, store_run: StoreRun, run_extract: RunStage, model: Model
) -> None:
    (job_id,) = (await store_run("316")).job_ids
    for _ in range(2):
        with pytest.raises(LLMResponseParseError):
            await run_extract(job_id, asked_once)
        await retry(database, job_id)
    model.answer = lambda call: "7"

    await run_extract(job_id, asked_once)

    assert [call.sample for call in model.calls] == [0, 1, 2]
    assert [use.purpose for of_attempt in await uses(database, job_id) for use in of_attempt] == [
        "ask",
        "ask, sample 2 because an earlier reply was rejected",
        "ask, sample 3 because an earlier reply was rejected",
    ]


async def test_other_weights_are_asked_the_same_again(
    database: Database, store_run: StoreRun, run_extract: RunStage, model: Model
) -> None:
    (job_id,) = (await store_run("316")).job_ids
    # A question that is asked by itself is not held to the weights it began with.
    async with database.connection() as connection:
        await connection.execute("UPDATE run SET kind = 'query'")
    with pytest.raises(LLMResponseParseError):
        await run_extract(job_id, corrected)
    await retry(database, job_id)

    model.weights, model.answer = "other weights", lambda call: "7"

    await run_extract(job_id, corrected)

    assert [len(call.messages) for call in model.calls] == [1, 3, 1]


async def test_only_the_calls_of_the_failed_exchange_are_rejected(
    database: Database, store_run: StoreRun, run_extract: RunStage, model: Model
) -> None:
    (job_id,) = (await store_run("316")).job_ids
    model.answer = lambda call: "7" if call.messages[0].content == "First?" else "seven"

    async def two(work: Work) -> Result[Number]:
        first = CALL.model_copy(update={"messages": (Message(role="user", content="First?"),)})
        await ask_until_usable(first, chat=work.chat, read=number, form="a number", retries=1)
        return await corrected(work)

    with pytest.raises(LLMResponseParseError):
        await run_extract(job_id, two)

    (failed,) = await uses(database, job_id)
    assert [use.is_rejected for use in failed] == [False, True, True]


async def test_a_stage_that_lost_its_lease_rejects_no_reply(
    database: Database, store_run: StoreRun, run_extract: RunStage
) -> None:
    (job_id,) = (await store_run("316")).job_ids

    async def overtaken(work: Work) -> Result[Number]:
        async with database.connection() as connection:
            await connection.execute("UPDATE stage_run SET fence = fence + 1 WHERE job_id = $1", job_id)
        return await asked_once(work)

    with pytest.raises(LLMResponseParseError):
        await run_extract(job_id, overtaken)

    ((paid,),) = await uses(database, job_id)
    assert not paid.is_rejected
