"""Replies that earlier attempts of a stage rejected: a retry never repeats the request that led to them."""

from schemas.values.chat import ChatCall, ChatReply, TokenSignals
from schemas.values.model_identities import ModelIdentity
from stages.ports import ChatModel, OnText
from store.database import Connection, Database
from store.runs import attempts, call_uses, ledger
from store.runs.call_uses import CallUse
from store.runs.stages import Claim


class RejectedReplies:
    """The rejected replies of the earlier attempts of a claimed stage, read at the first use."""

    def __init__(self, database: Database, claim: Claim) -> None:
        self._database = database
        self._claim = claim
        self._found: list[CallUse] | None = None

    async def find(self, call: ChatCall, digest: str) -> CallUse | None:
        """The reply to this request, by the same weights as far as they are known; the timeout does not matter."""
        if self._claim.attempt == 1:
            return None
        if self._found is None:
            self._found = await self._database.with_retry(self._read)
        wanted = call.model_dump(mode="json", include={"messages", "temperature", "sample"})
        for use in self._found:
            is_same_model = use.model == call.model and (not use.digest or not digest or use.digest == digest)
            if is_same_model and wanted.items() <= use.request.items():
                return use
        return None

    async def note(self, use: CallUse, purpose: str) -> None:
        """Record that the attempt used the rejected reply again."""
        await self._database.with_retry(
            lambda connection: ledger.use(
                connection, self._claim.attempt_id, use.call_id, f"{purpose}, rejected before", is_reused=True
            )
        )

    async def _read(self, connection: Connection) -> list[CallUse]:
        history = await attempts.history(connection, self._claim.job_id, self._claim.stage, with_outputs=False)
        earlier = [attempt.id for attempt in history if attempt.id != self._claim.attempt_id]
        uses = await call_uses.of_attempts(connection, earlier)
        return [use for attempt_id in earlier for use in uses[attempt_id] if use.is_rejected]


class _KnowingChat:
    """A chat model, and the replies of it that were rejected."""

    def __init__(self, chat: ChatModel, rejected: RejectedReplies) -> None:
        self._chat = chat
        self._rejected = rejected

    async def identity(self, model: str) -> ModelIdentity:
        """See ChatModel."""
        return await self._chat.identity(model)


class CorrectingChat(_KnowingChat):
    """The port ChatModel for stages that ask again: they get a rejected reply, and send it back with what is wrong."""

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """The rejected reply, marked, without a request; else the model's."""
        use = await self._rejected.find(call, (await self.identity(call.model)).digest)
        if use is None:
            return await self._chat.chat(call, on_text)
        await self._rejected.note(use, call.purpose)
        return ChatReply(
            text=use.reply,
            model=call.model,
            digest=use.digest,
            stop_reason=use.stop_reason,
            prompt_tokens=use.prompt_tokens,
            reply_tokens=use.reply_tokens,
            seconds=use.seconds,
            tokens=None if use.tokens is None else TokenSignals.model_validate(use.tokens),
            is_rejected=True,
        )


class ResamplingChat(_KnowingChat):
    """The port ChatModel for stages that ask once: in place of a rejected reply they get that of another sample."""

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """The model's reply to the next sample number that was not rejected."""
        asked, digest = call, (await self.identity(call.model)).digest
        while await self._rejected.find(asked, digest) is not None:
            sample = asked.sample + 1
            purpose = f"{call.purpose}, sample {sample + 1} because an earlier reply was rejected"
            asked = asked.model_copy(update={"sample": sample, "purpose": purpose})
        return await self._chat.chat(asked, on_text)
