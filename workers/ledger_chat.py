"""A chat model that asks the ledger first: a call that was answered once is never paid for again."""

import asyncio
from typing import NamedTuple
from weakref import WeakValueDictionary

from schemas.errors import ModelMissingError
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from stages.ports import ChatModel, OnText
from stages.texts.characters import storable
from store.database import RESULT_RETRY_SECONDS, Database
from store.runs import ledger
from store.runs.ledger import Caller
from store.runs.stages import Claim
from workers import telemetry
from workers.call_limits import CallLimits
from workers.frozen import FrozenModels


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

    async def identity(self, model: str) -> ModelIdentity:
        """See ChatModel."""
        return await self._chat.identity(model)

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """The kept answer, or the model's, which is kept before it is used.

        Raises ModelChangedError when the model is another one than the run began with, and what CallLimits raises.
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
        await self._database.with_retry(
            lambda connection: ledger.use(
                connection, self._attempt.attempt_id, call_id, call.purpose, is_reused=is_reused
            )
        )
        return answer

    async def _kept_or_paid(
        self, call: ChatCall, served_by: ModelIdentity, on_text: OnText | None
    ) -> tuple[ledger.KeptCall, bool]:
        key = ledger.call_key(call, served_by)
        kept = await self._database.with_retry(lambda connection: ledger.find(connection, key))
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
        return paid, False
