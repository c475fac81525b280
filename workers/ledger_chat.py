"""A chat model that asks the ledger first: a call that was answered once is never paid for again."""

from schemas.values.chat import ChatCall, ChatReply
from stages.ports import ChatModel
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
            reply = _storable(await self._chat.chat(call))
            kept = await self._database.steadily(
                lambda connection: ledger.keep(connection, key, call, reply), patience_s=RESULT_PATIENCE_SECONDS
            )
        call_id, answer = kept
        await self._database.steadily(
            lambda connection: ledger.use(connection, self._attempt_id, call_id, call.purpose, is_reused=is_reused)
        )
        return answer


def _storable(reply: ChatReply) -> ChatReply:
    """The reply without what Postgres cannot hold: NUL characters and halves of surrogate pairs."""
    return reply.model_copy(update={"text": reply.text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")})
