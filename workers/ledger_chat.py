"""A chat model that asks the ledger first: a call that was answered once is never paid for again."""

import asyncio
from typing import NamedTuple
from weakref import WeakValueDictionary

from schemas.errors import LLMError, ModelMissingError
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from stages.ports import ChatModel, OnText
from stages.texts.characters import storable
from store.database import RESULT_RETRY_SECONDS, Database
from store.runs import backlog, batches, ledger
from store.runs.ledger import Caller, KeptCall
from store.runs.stages import Claim
from workers import telemetry
from workers.call_limits import CallLimits
from workers.frozen import FrozenModels
from workers.leases import AwaitsBatch, BudgetSpent


class CallingAttempt(NamedTuple):
    """The attempt of a stage that makes calls."""

    attempt_id: int
    caller: Caller
    draw: int = 0

    @property
    def run_id(self) -> int:
        """The run of the stage."""
        return self.caller.run_id

    @classmethod
    def of(cls, claim: Claim, draw: int = 0) -> "CallingAttempt":
        """The attempt that a claim opened."""
        return cls(claim.attempt_id, Caller(claim.run_id, claim.job_id, claim.stage), draw)


class InFlightCalls:
    """The calls that tasks of this process wait for: of several equal ones the first is asked, and answers the others.

    For example, both modes of a participant extract the same evidence at the same time.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def turn(self, key: str) -> asyncio.Lock:
        """The lock that the task holds which makes the call of this key."""
        return self._locks.setdefault(key, asyncio.Lock())


class LedgerChat:
    """The port ChatModel for one attempt of a stage. Calls get the draw of its run."""

    def __init__(
        self,
        chat: ChatModel,
        database: Database,
        attempt: CallingAttempt,
        in_flight: InFlightCalls,
        frozen: FrozenModels,
        limits: CallLimits,
    ) -> None:
        self._chat = chat
        self._database = database
        self._attempt = attempt
        self._in_flight = in_flight
        self._frozen = frozen
        self._limits = limits
        self._hours: float | None = None
        self._has_read_hours = False

    async def identity(self, model: str) -> ModelIdentity:
        """See ChatModel."""
        return await self._chat.identity(model)

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """The kept answer, or the model's, which is kept before it is used.

        Raises ModelChangedError when the model is another one than the run began with, what CallLimits raises, and
        AwaitsBatch where the calls of the run are sent as batches.
        """
        call = call.model_copy(update={"draw": self._attempt.draw})
        try:
            served_by = await self._limits.look_up(self._attempt.caller, lambda: self._chat.identity(call.model))
        except ModelMissingError as missing:
            await self._frozen.check_missing(self._attempt.run_id, missing)
            raise
        await self._frozen.check(self._attempt.run_id, served_by)
        async with self._in_flight.turn(ledger.call_key(call, served_by)):
            (call_id, answer), is_reused = await self._kept_or_paid(call, served_by, on_text)
        await self._database.ask(ledger.use, self._attempt.attempt_id, call_id, call.purpose, is_reused=is_reused)
        return answer

    async def _kept_or_paid(
        self, call: ChatCall, served_by: ModelIdentity, on_text: OnText | None
    ) -> tuple[KeptCall, bool]:
        key = ledger.call_key(call, served_by)
        kept = await self._database.ask(ledger.find, key)
        if kept is None and (hours := await self._batch_hours()) is not None:
            kept = await self._from_batch(key, call, served_by, hours)
        if kept is not None:
            return kept, True
        reply = await self._limits.ask(
            self._attempt.caller,
            served_by.server,
            call,
            lambda: telemetry.model_call(call, served_by, lambda: self._chat.chat(call, on_text)),
        )
        reply = reply.model_copy(update={"text": storable(reply.text)})
        paid = await self._database.with_retry(
            lambda connection: ledger.keep(connection, key, call, reply, served_by), retry_for_s=RESULT_RETRY_SECONDS
        )
        if self._hours is not None:
            await self._database.ask(batches.forget, key)
        return paid, False

    async def _batch_hours(self) -> float | None:
        if not self._has_read_hours:
            self._hours = await self._database.ask(batches.hours, self._attempt.run_id)
            self._has_read_hours = True
        return self._hours

    async def _from_batch(self, key: str, call: ChatCall, served_by: ModelIdentity, hours: float) -> KeptCall | None:
        """The answer that a batch brought just now; None for a call that is to be sent by itself.

        Raises AwaitsBatch while a batch may bring it, and LLMError when its batch was refused.
        """
        caller = self._attempt.caller
        found = await self._database.ask(batches.register, caller, key, call, served_by, hours)
        if found.error is not None:
            raise LLMError(found.error)
        if found.is_too_much:
            limits = await self._database.ask(backlog.find, caller.run_id)
            assert limits is not None
            raise BudgetSpent(caller.run_id, limits)
        if found.kept is None and not found.is_single:
            raise AwaitsBatch(served_by.server, hours)
        return found.kept
