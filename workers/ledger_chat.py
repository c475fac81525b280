"""A chat model that asks the ledger first: a call that was answered once is never paid for again."""

from schemas.values.chat import ChatCall, ChatReply
from stages.ports import ChatModel
from stages.texts.storable import storable
from store import ledger
from store.database import RESULT_PATIENCE_SECONDS, Database


class LedgerChat:
    """The port ChatModel for one attempt of a stage."""

    def __init__(self, chat: ChatModel, database: Database, attempt_id: int) -> None:
        self._chat = chat
        self._database = database
        self._attempt_id = attempt_id

    async def digest(self, model: str) -> str:
        """See ChatModel."""
        return await self._chat.digest(model)

    async def chat(self, call: ChatCall) -> ChatReply:
        """The kept answer, or the model's, which is kept before it is used."""
        key = ledger.call_key(call, await self._chat.digest(call.model))
        kept = await self._database.steadily(lambda connection: ledger.find(connection, key))
        is_reused = kept is not None
        if kept is None:
            reply = await self._chat.chat(call)
            reply = reply.model_copy(update={"text": storable(reply.text)})
            kept = await self._database.steadily(
                lambda connection: ledger.keep(connection, key, call, reply), patience_s=RESULT_PATIENCE_SECONDS
            )
        call_id, answer = kept
        await self._database.steadily(
            lambda connection: ledger.use(connection, self._attempt_id, call_id, call.purpose, is_reused=is_reused)
        )
        return answer
