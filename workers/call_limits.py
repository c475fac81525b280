"""Calls of language models within the limits of their server and of their run.

A stage that finds its server busy waits for a second at most; then it is given back until its time has come. Some stay
that only wait for other calls to end, a quarter as many as are permitted at a time: they are what keeps every slot of
the server busy. In each process they stand in a line, and only the first of them asks for a permit.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import uuid4

import structlog
from redis.asyncio import Redis

from schemas.errors import LLMError
from schemas.settings.process import LLMLimits
from schemas.statuses import WaitReason
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from stages.call_tokens import estimated_tokens, used_tokens
from store.database import RESULT_RETRY_SECONDS, Connection, Database, DatabaseUnavailableError
from store.runs import llm_waits, run_limits
from store.runs.llm_waits import Caller, Waited
from workers.put_off import BudgetSpent, ServerBusy
from workers.server_limits import Busy, ServerLimits

log = structlog.get_logger(__name__)

IN_PLACE_S: Final = 1.0
"""A stage waits so long with its thread, also when more is known to be needed, so that no worker takes and gives back
one stage after another while a server is busy."""
_POLL_S: Final = 0.02
_SHORTEST_REFUSAL_S: Final = 0.5
_NOT_KNOWN: Final = Busy(WaitReason.CALLS, IN_PLACE_S)
MOST_REFUSALS: Final = 20
"""A call that was refused so often fails."""


@dataclass
class _Line:
    """Those of one process who wait for a server, by their permits, in the order in which they came."""

    places: list[str] = field(default_factory=list)
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    busy: Busy = _NOT_KNOWN
    """What the first found."""

    def leave(self, place: str) -> None:
        """Give a place up."""
        self.places.remove(place)
        self.moved.set()
        self.moved = asyncio.Event()

    async def moves_within(self, seconds: float) -> None:
        """Wait until somebody leaves, at most so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.moved.wait()


class CallLimits:
    """The calls of one process."""

    def __init__(
        self, database: Database, limits: LLMLimits, redis: "Redis | None" = None, *, lease_s: float = 6.0
    ) -> None:
        self._database = database
        self._has_slots = bool(limits.calls)
        self._stay = max(1, (limits.calls or 0) // 4)
        self._servers = ServerLimits(limits, redis, lease_s=lease_s)
        self._lines: defaultdict[str, _Line] = defaultdict(_Line)

    async def ask(
        self, caller: Caller, server: str, call: ChatCall, send: Callable[[], Awaitable[ChatReply]]
    ) -> ChatReply:
        """Send a call once the limits permit it, and again after each refusal of the server.

        Raises ServerBusy when that takes longer than a second, BudgetSpent when the run may pay for no further call,
        and whatever `send` raises.
        """
        waited = await self._database.with_retry(lambda connection: llm_waits.of(connection, caller))
        refusals = waited.refusals
        while True:
            permit = await self._turn(server, estimated_tokens(call), refusals)
            try:
                async with self._servers.renewed(server, permit):
                    await self._spend(caller, waited)
                    reply = await send()
            except LLMError as error:
                refusals += 1
                if not _is_refusal(error) or refusals >= MOST_REFUSALS:
                    raise
                await self._refuse(caller, server, waited, error, refusals)
                continue
            finally:
                await self._bring_forward(server)
            await self._count(caller, waited, used_tokens(call, reply))
            return reply

    async def look_up(self, caller: Caller, find: Callable[[], Awaitable[ModelIdentity]]) -> ModelIdentity:
        """Find the model of a call, which is no call. Raises ServerBusy when the server refuses that too."""
        try:
            return await find()
        except LLMError as error:
            if not _is_refusal(error):
                raise
            waited = await self._database.with_retry(lambda connection: llm_waits.of(connection, caller))
            refusals = waited.refusals + 1
            if refusals >= MOST_REFUSALS:
                raise
            wait_s = _refused_s(error, refusals)
            raise ServerBusy("the list of models", WaitReason.REFUSED, wait_s, refusals) from None

    async def _turn(self, server: str, tokens: int, refusals: int) -> str:
        """The name of a permit, which the server's slots know."""
        line, permit = self._lines[server], uuid4().hex
        deadline = time.monotonic() + IN_PLACE_S
        line.places.append(permit)
        try:
            while True:
                before = line.places.index(permit)
                if not before:
                    busy = await self._servers.take(server, permit, tokens)
                    if busy is None:
                        return permit
                    line.busy = busy
                left_s = deadline - time.monotonic()
                is_for_calls = line.busy.reason is WaitReason.CALLS
                if left_s <= 0 and not (is_for_calls and self._has_slots and before < self._stay):
                    raise ServerBusy(server, line.busy.reason, line.busy.wait_s, refusals)
                if before:
                    await line.moves_within(left_s if left_s > 0 else IN_PLACE_S)
                else:
                    await asyncio.sleep(_POLL_S if is_for_calls else min(line.busy.wait_s, left_s))
        except asyncio.CancelledError:
            await self._servers.release(server, permit)
            raise
        finally:
            line.leave(permit)

    async def _spend(self, caller: Caller, waited: Waited) -> None:
        if not waited.has_budget:
            return

        async def spend(connection: Connection) -> None:
            if not await run_limits.spend_call(connection, caller.run_id):
                limits = await run_limits.find(connection, caller.run_id)
                if limits is not None:
                    raise BudgetSpent(caller.run_id, limits)

        await self._database.with_retry(spend)

    async def _refuse(self, caller: Caller, server: str, waited: Waited, error: LLMError, refusals: int) -> None:
        wait_s = max(_refused_s(error, refusals), _SHORTEST_REFUSAL_S)
        log.warning("llm_server_refuses", server=server, status=error.status, wait_s=wait_s)
        await self._servers.refuse(server, wait_s)
        if waited.has_budget:
            await self._database.with_retry(
                lambda connection: run_limits.count(connection, caller.run_id, llm_calls=-1)
            )

    async def _bring_forward(self, server: str) -> None:
        """After a call: the slot is for the first in the line of this process, else for who was given back."""
        if not self._has_slots or self._lines[server].places:
            return
        try:
            await self._database.with_retry(partial(llm_waits.bring_forward, server=server))
        except DatabaseUnavailableError as error:
            # A reply outlives a database that is away here: those who wait come back by themselves.
            log.warning("nobody_brought_forward", server=server, error=str(error))

    async def _count(self, caller: Caller, waited: Waited, used: int) -> None:
        if not (waited.has_waited or waited.has_budget):
            return

        async def count(connection: Connection) -> None:
            await llm_waits.forget(connection, caller)
            await run_limits.count(connection, caller.run_id, tokens=used)

        await self._database.with_retry(count, retry_for_s=RESULT_RETRY_SECONDS)


def _is_refusal(error: LLMError) -> bool:
    return error.status == 429 or (error.status == 503 and error.retry_after_s is not None)


def _refused_s(error: LLMError, refusals: int) -> float:
    """Seconds of a refusal; one that names none takes 2 s, and twice the last one when the call is refused again."""
    return 2.0 ** min(refusals, 6) if error.retry_after_s is None else error.retry_after_s
