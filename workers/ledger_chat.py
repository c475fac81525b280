"""A chat model that asks the ledger first: a call that was answered once is never paid for again."""

import asyncio
from weakref import WeakValueDictionary

from schemas.values.chat import ChatCall, ChatReply
from stages.ports import ChatModel
from stages.texts.storable import storable
from store.database import RESULT_RETRY_SECONDS, Database
from store.runs import ledger


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
    """The port ChatModel for one attempt of a stage."""

    def __init__(self, chat: ChatModel, database: Database, attempt_id: int, in_flight: InFlightCalls) -> None:
        self._chat = chat
        self._database = database
        self._attempt_id = attempt_id
        self._in_flight = in_flight

    async def digest(self, model: str) -> str:
        """See ChatModel."""
        return await self._chat.digest(model)

    async def chat(self, call: ChatCall) -> ChatReply:
        """The kept answer, or the model's, which is kept before it is used."""
        key = ledger.call_key(call, await self._chat.digest(call.model))
        async with self._in_flight.turn(key):
            (call_id, answer), is_reused = await self._kept_or_paid(key, call)
        await self._database.with_retry(
            lambda connection: ledger.use(connection, self._attempt_id, call_id, call.purpose, is_reused=is_reused)
        )
        return answer

    async def _kept_or_paid(self, key: str, call: ChatCall) -> tuple[ledger.KeptCall, bool]:
        kept = await self._database.with_retry(lambda connection: ledger.find(connection, key))
        if kept is not None:
            return kept, True
        reply = await self._chat.chat(call)
        reply = reply.model_copy(update={"text": storable(reply.text)})
        paid = await self._database.with_retry(
            lambda connection: ledger.keep(connection, key, call, reply), retry_for_s=RESULT_RETRY_SECONDS
        )
        return paid, False
