"""A chat model that asks the ledger first: a call that was answered once is never paid for again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, TypeVar
from weakref import WeakValueDictionary

import structlog

from schemas.errors import DomainError, FailureCategory
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from schemas.values.runs import FrozenModel
from stages.ports import ChatModel, OnText
from stages.texts.characters import storable
from store.database import DATABASE_ERRORS, RESULT_RETRY_SECONDS, Connection, Database
from store.runs import answer_pieces, attempts, backlog, batches, ledger, runs
from store.runs.batches import Registered
from store.runs.call_costs import CallUse
from store.runs.ledger import KeptCall
from store.runs.stages import Claim
from workers import telemetry
from workers.call_limits import CallLimits
from workers.leases import AwaitsBatch, BudgetSpent

REMEMBERED = 1000
"""Runs, and models of runs, that a process remembers: it lives for years, and every question is a run."""

Key = TypeVar("Key")
Found = TypeVar("Found")


class Remembered(dict[Key, Found]):
    """What was loaded last, at most so many; what was forgotten is loaded again."""

    async def load(self, key: Key, load: Callable[[], Awaitable[Found]]) -> Found:
        if key in self:
            return self[key]
        found = self[key] = await load()
        if len(self) > REMEMBERED:
            del self[next(iter(self))]
        return found


class CallLedger:
    """The calls of one process, within the limits, and the models that its runs began with."""

    def __init__(self, database: Database, limits: CallLimits) -> None:
        self.database = database
        self.limits = limits
        self.in_flight: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By key: of several equal calls the first is asked, and answers the others. For example, both modes of a
        participant extract the same evidence at the same time."""
        self._frozen: Remembered[tuple[int, str], FrozenModel | None] = Remembered()

    async def check(self, run_id: int, found: ModelIdentity) -> None:
        """Freeze a model at the first call of a run. Raises DomainError when another one was frozen."""
        frozen = await self._frozen.load((run_id, found.model), lambda: self.database.ask(_freeze, run_id, found))
        if frozen is not None and frozen.identity.weights != found.weights:
            when = "at its submission" if frozen.is_from_submission else "at its first call"
            raise DomainError(
                f"Model '{found.model}' of run r{run_id} has changed: {frozen.identity.words} {when}, {found.words} "
                f"now. Serve the first one again and `ragq retry r{run_id}`, or submit the same work with `--new`, "
                "which uses the present one.",
                FailureCategory.MODEL_CHANGED,
            )


async def _freeze(connection: Connection, run_id: int, found: ModelIdentity) -> FrozenModel | None:
    """The frozen model; None for a run that is not held to its models."""
    await runs.freeze(connection, run_id, [found], is_from_submission=False)
    (frozen,) = [one for one in await runs.frozen(connection, run_id) if one.model == found.model]
    return frozen if await runs.is_held(connection, run_id) else None


class LedgerChat:
    """The port ChatModel for one attempt of a stage. Calls get the draw of its run.

    No request is repeated whose reply an earlier attempt rejected. Stages that ask again get the rejected reply, and
    send it back with what is wrong. Those that ask once (`resamples`) get the reply of another sample in its place.
    """

    def __init__(
        self, chat: ChatModel, calls: CallLedger, claim: Claim, draw: int = 0, *, resamples: bool = False
    ) -> None:
        self._chat = chat
        self._calls = calls
        self._claim = claim
        self._draw = draw
        self._database = calls.database
        self._resamples = resamples
        self._rejected: list[CallUse] | None = None

    async def identity(self, model: str) -> ModelIdentity:
        return await self._chat.identity(model)

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """The rejected reply, marked, without a request; the kept answer; or the model's, which is kept before its use.

        Raises DomainError when the model is another one than the run began with, what CallLimits raises, and
        AwaitsBatch where the calls of the run are sent as batches.
        """
        call, purpose = call.model_copy(update={"draw": self._draw}), call.purpose
        served_by = await self._calls.limits.look_up(self._claim, lambda: self._chat.identity(call.model))
        await self._calls.check(self._claim.run_id, served_by)
        while (use := await self._find_rejected(call, served_by.digest)) is not None:
            if not self._resamples:
                await self._note(use.call_id, f"{purpose}, rejected before", is_reused=True)
                return _rejected_reply(use)
            sample = call.sample + 1
            why = f"{purpose}, sample {sample + 1} because an earlier reply was rejected"
            call = call.model_copy(update={"sample": sample, "purpose": why})
        key = ledger.call_key(call, served_by)
        async with self._calls.in_flight.setdefault(key, asyncio.Lock()):
            (call_id, answer), is_reused = await self._kept_or_paid(key, call, served_by, on_text)
        await self._note(call_id, call.purpose, is_reused=is_reused)
        return answer

    async def _note(self, call_id: int, purpose: str, *, is_reused: bool) -> None:
        await self._database.ask(ledger.use, self._claim.attempt_id, call_id, purpose, is_reused=is_reused)

    async def _find_rejected(self, call: ChatCall, digest: str) -> CallUse | None:
        """The reply to this request, by the same weights as far as they are known; the timeout does not matter."""
        if self._claim.attempt == 1:
            return None
        if self._rejected is None:
            tried = await self._database.ask(attempts.history, self._claim.job_id, self._claim.stage)
            earlier = [attempt for attempt in tried if attempt.id != self._claim.attempt_id]
            self._rejected = [use for attempt in earlier for use in attempt.calls if use.is_rejected]
        wanted = call.model_dump(mode="json", include={"messages", "temperature", "sample"})
        for use in self._rejected:
            is_same_model = use.model == call.model and (not use.digest or not digest or use.digest == digest)
            if is_same_model and wanted.items() <= (use.request or {}).items():
                return use
        return None

    async def _kept_or_paid(
        self, key: str, call: ChatCall, served_by: ModelIdentity, on_text: OnText | None
    ) -> tuple[KeptCall, bool]:
        kept = await self._database.ask(ledger.find, key)
        hours = None
        if kept is None and (hours := await self._database.ask(batches.hours, self._claim.run_id)) is not None:
            kept = await self._from_batch(key, call, served_by, hours)
        if kept is not None:
            return kept, True
        reply = await self._calls.limits.ask(
            self._claim,
            served_by.server,
            call,
            lambda: telemetry.model_call(call, served_by, lambda: self._chat.chat(call, on_text)),
        )
        reply = reply.model_copy(update={"text": storable(reply.text)})
        paid = await self._database.with_retry(
            lambda connection: ledger.keep(connection, key, call, reply, served_by), retry_for_s=RESULT_RETRY_SECONDS
        )
        if hours is not None:
            await self._database.ask(batches.forget, key)
        return paid, False

    async def _from_batch(self, key: str, call: ChatCall, served_by: ModelIdentity, hours: float) -> KeptCall | None:
        """The answer that a batch brought just now; None for a call that is to be sent by itself. Raises AwaitsBatch
        while a batch may bring it, and LLMError when its batch was refused."""
        found = await self._database.ask(batches.register, self._claim, key, call, served_by, hours)
        if found is Registered.TOO_MUCH:
            limits = await self._database.ask(backlog.find, self._claim.run_id)
            assert limits is not None
            raise BudgetSpent(self._claim.run_id, limits)
        if found is Registered.AWAITED:
            raise AwaitsBatch(served_by.server, hours)
        return None if found is Registered.SINGLE else found


def _rejected_reply(use: CallUse) -> ChatReply:
    same = ("model", "digest", "stop_reason", "prompt_tokens", "reply_tokens", "seconds", "tokens")
    return ChatReply(text=use.reply, **{name: getattr(use, name) for name in same}, is_rejected=True)


log = structlog.get_logger("ragq.stages")

#: Shortest time between two writes.
EVERY_SECONDS: Final = 0.2


@asynccontextmanager
async def published(database: Database, attempt_id: int) -> AsyncIterator[OnText]:
    """Until the block ends, what is handed over is stored as pieces of the attempt, at most five a second. Nothing
    depends on it: while the database does not answer, the pieces that follow are not published."""
    waiting: list[str] = []
    is_over = asyncio.Event()

    async def publish() -> None:
        ordinal = 0
        while not is_over.is_set():
            text = storable("".join(waiting))
            waiting.clear()
            if text:
                ordinal += 1
                try:
                    await database.once(answer_pieces.add, attempt_id, ordinal, text)
                except DATABASE_ERRORS as error:
                    log.warning("answer_not_published", attempt_id=attempt_id, error_type=type(error).__name__)
                    return
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_SECONDS):
                    await is_over.wait()

    publishing = asyncio.create_task(publish())
    try:
        yield waiting.append
    finally:
        is_over.set()
        await publishing
