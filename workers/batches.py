"""Sends, watches and collects batches of calls of language models, a step at a time. Every worker may."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import httpx
import structlog
from pydantic import ValidationError

from adapters.openai import Completion
from adapters.openai_batches import Batch, OpenAIBatches
from schemas.errors import LLMError
from schemas.settings.process import ServerAddress
from schemas.values.chat import ChatCall
from stages.models import server_name
from stages.texts.characters import storable
from store.database import DATABASE_ERRORS, Database
from store.runs import batches
from store.runs.batches import ClaimedBatch
from workers.leases import crash_point

log = structlog.get_logger(__name__)

_EVERY_S: Final = 5.0
_AGAIN_S: Final = 60.0
"""After an error. A batch that was begun without our knowing is in the provider's list by then."""
#: While a batch is begun nobody else may begin it; to look at one twice does no harm.
_BEGINS_S: Final = 1200.0
_LOOKS_S: Final = 120.0


class BatchSender:
    """Takes the batches of one server a step further, again and again."""

    def __init__(self, database: Database, address: ServerAddress, *, look_s: float) -> None:
        self._database = database
        self._server = server_name(address.base_url)
        self._provider = OpenAIBatches(address.base_url, api_key=address.api_key)
        self._look_s = look_s

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            while True:
                try:
                    await self.step()
                except DATABASE_ERRORS as error:
                    log.warning("batches_interrupted", error_type=type(error).__name__)
                await asyncio.sleep(min(_EVERY_S, self._look_s / 4) * random.uniform(0.7, 1.0))
        finally:
            await self._provider.close()

    async def step(self) -> None:
        """Gather calls, take each batch that is due a step further, and make stages due that have their answers."""
        await self._database.once(batches.gather, self._server, quiet_s=self._look_s / 2)
        done: set[int] = set()
        times = {"begins_s": _BEGINS_S, "looks_s": _LOOKS_S}
        while (batch := await self._database.once(batches.claim, self._server, **times, other_than=done)) is not None:
            done.add(batch.id)
            await self._advance(batch)
        await self._database.once(batches.release)

    async def _advance(self, batch: ClaimedBatch) -> None:
        try:
            if batch.provider_id is None:
                async with asyncio.timeout(_BEGINS_S - _AGAIN_S):
                    await self._send(batch)
            else:
                await self._look(batch, batch.provider_id)
        except (httpx.TransportError, LLMError, ValidationError, TimeoutError) as error:
            status = error.status if isinstance(error, LLMError) else None
            note = str(error) if isinstance(error, LLMError) else f"{self._server}: {type(error).__name__}"
            log.warning("batch_failed", batch=batch.id, status=status, error_type=type(error).__name__)
            # A batch that the provider does not know any more has no answers either.
            if _is_refusal(status) and (batch.provider_id is None or status == httpx.codes.NOT_FOUND):
                await self._database.once(batches.end, batch, refused=note)
            else:
                await self._database.once(batches.change, batch, note=note, again_in_s=_AGAIN_S)

    async def _send(self, batch: ClaimedBatch) -> None:
        calls = await self._database.once(batches.calls, batch.id)
        provider_id = await self._provider.find(batch.name, since_s=batch.created_s)
        if provider_id is None and not calls:
            await self._database.once(batches.end, batch)
            return
        if provider_id is None:
            file_id = await self._provider.upload(calls)
            crash_point("after_upload", "batch", 1)
            try:
                provider_id = await self._provider.begin(file_id, batch.name)
            except LLMError as error:
                if _is_refusal(error.status):
                    await self._forget([file_id])
                raise
            crash_point("after_begin", "batch", 1)
        log.info("batch_sent", batch=batch.id, calls=len(calls))
        await self._database.once(batches.change, batch, provider_id=provider_id, again_in_s=self._look_s)

    async def _look(self, batch: ClaimedBatch, provider_id: str) -> None:
        found = await self._provider.look(provider_id)
        if found.status == "failed":
            # It was not begun: none of its calls was made.
            await self._database.once(batches.end, batch, refused=f"{self._server} refused the batch {provider_id}.")
            await self._forget(found.files)
            return
        if not found.is_under_way:
            await self._collect(batch, found)
            return
        if batch.is_to_cancel and found.status != "cancelling":
            await self._provider.cancel(provider_id)
        await self._database.once(batches.change, batch, again_in_s=self._look_s)

    async def _collect(self, batch: ClaimedBatch, found: Batch) -> None:
        calls = dict(await self._database.once(batches.calls, batch.id))
        answered = 0
        for file in found.answers:
            async for line in self._provider.lines(file):
                call, completion = calls.get(line.custom_id), line.completion
                if call is not None and completion is not None:
                    answered += await self._keep(batch, line.custom_id, call, completion)
                    crash_point("after_answer", "batch", answered)
        singly = await self._database.once(batches.end, batch)
        log.info("batch_ended", batch=batch.id, answered=answered, singly=singly)
        await self._forget(found.files)

    async def _forget(self, files: Sequence[str]) -> None:
        with suppress(httpx.TransportError):
            await self._provider.forget(files)

    async def _keep(self, batch: ClaimedBatch, key: str, call: ChatCall, completion: Completion) -> bool:
        """Store an answer. False where it is stored already, or of no use."""
        try:
            reply = completion.reply_to(call, self._server, seconds=0.0)
        except LLMError:
            return False
        reply = reply.model_copy(update={"text": storable(reply.text)})
        return await self._database.once(batches.keep_answer, batch, key, reply)


def _is_refusal(status: int | None) -> bool:
    """Whether an error is one that the same request would meet again, and that carried nothing out."""
    return status is not None and 400 <= status < 500 and status not in (408, 409, 429)
