"""Calls of language models within the limits of their server and of their run.

The limits of a server hold for all workers together (`store/runs/llm_permits.py`). In each process those who wait
stand in a line, and only the first of them asks for a permit. After a second the stage is given back until its time has
come, so that its thread is free. Some stay that only wait for other calls to end, a quarter as many as are permitted at
a time: they are what keeps every slot of the server busy.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import structlog

from schemas.errors import LLMError
from schemas.settings.process import LLMLimits
from schemas.statuses import WaitReason
from schemas.values.chat import ChatCall, ChatReply
from schemas.values.model_identities import ModelIdentity
from stages.call_tokens import estimated_tokens, used_tokens
from store.database import RESULT_RETRY_SECONDS, Connection, Database, DatabaseUnavailableError
from store.runs import llm_permits, run_limits
from store.runs.llm_permits import Caller, Returned, Turn
from workers.put_off import BudgetSpent, ServerBusy
from workers.waiting_line import Place, WaitingLine

log = structlog.get_logger(__name__)

IN_PLACE_S: Final = 1.0
"""A stage waits so long with its thread, also when more is known to be needed, so that no worker takes and gives back
one stage after another while a server is busy."""
_POLL_S: Final = 0.05
_SLOW_POLL_S: Final = 0.25
"""Between two looks for a permit that another process may have released; the second where calls of this one are in
progress too, each of which gives its permit to the line."""
_CALLS_WAIT_S: Final = 10.0
"""A stage that waits for other calls to end is brought forward when one ends; this is for calls whose worker died."""
_SHORTEST_REFUSAL_S: Final = 0.5
MOST_REFUSALS: Final = 20
"""A call that was refused so often fails."""


class CallLimits:
    """The calls of one process."""

    def __init__(self, database: Database, limits: LLMLimits) -> None:
        self._database = database
        self._limits = limits
        stay = max(1, (limits.calls or 0) // 4)
        self._lines: defaultdict[str, _Line] = defaultdict(lambda: _Line(stay))

    async def ask(
        self, caller: Caller, server: str, call: ChatCall, send: Callable[[], Awaitable[ChatReply]]
    ) -> ChatReply:
        """Send a call once the limits permit it, and again after each refusal of the server.

        Raises ServerBusy when that takes longer than a second, BudgetSpent when the run may pay for no further call,
        and whatever `send` raises.
        """
        refusals = 0
        while True:
            turn = await self._turn(caller, server, estimated_tokens(call), refusals)
            used: int | None = None
            try:
                await self._spend(caller, turn)
                reply = await send()
                used = used_tokens(call, reply)
                return reply
            except LLMError as error:
                refusals = max(refusals, turn.refusals) + 1
                if not _is_refusal(error) or refusals >= MOST_REFUSALS:
                    raise
                await self._refuse(caller, server, turn, error)
                used = 0
            finally:
                await self._end(caller, server, turn, used)

    async def look_up(self, caller: Caller, find: Callable[[], Awaitable[ModelIdentity]]) -> ModelIdentity:
        """Find the model of a call, which is no call. Raises ServerBusy when the server refuses that too."""
        try:
            return await find()
        except LLMError as error:
            if not _is_refusal(error):
                raise
            before = await self._database.with_retry(lambda connection: llm_permits.refusals(connection, caller))
            if before + 1 >= MOST_REFUSALS:
                raise
            wait_s = 2.0 ** min(before + 1, 6) if error.retry_after_s is None else error.retry_after_s
            raise ServerBusy("the list of models", WaitReason.REFUSED, wait_s, before + 1) from None

    async def _turn(self, caller: Caller, server: str, tokens: int, refusals: int) -> Turn:
        line = self._lines[server]
        began = time.monotonic()
        try:
            async with line.place(await self._since(caller, line)) as place:
                while await place.comes_first_by(began + IN_PLACE_S):
                    returned = line.returned
                    take = partial(
                        llm_permits.take,
                        server=server,
                        caller=caller,
                        tokens=tokens,
                        limits=self._limits,
                        returned=returned,
                    )
                    turn = await self._database.with_retry(take)
                    line.is_given_back(returned)
                    if turn.reason is None:
                        line.in_progress += turn.permit is not None
                        return turn
                    refusals = max(refusals, turn.refusals)
                    line.note(turn.reason, turn.wait_s)
                    left_s = began + IN_PLACE_S - time.monotonic()
                    if left_s <= 0 and not place.may_stay:
                        break
                    if not line.returned:
                        await line.moves_within(line.poll_s if turn.wait_s is None else min(left_s, turn.wait_s))
        finally:
            await self._release(server)
        raise line.busy(server, refusals)

    async def _since(self, caller: Caller, line: "_Line") -> float:
        """When the stage first had to wait; asked only where others wait too."""
        if not len(line):
            return time.monotonic()
        waited_s = await self._database.with_retry(lambda connection: llm_permits.waited_s(connection, caller))
        return time.monotonic() - waited_s

    async def _spend(self, caller: Caller, turn: Turn) -> None:
        if not turn.has_budget:
            return

        async def spend(connection: Connection) -> None:
            if not await run_limits.spend_call(connection, caller.run_id):
                limits = await run_limits.find(connection, caller.run_id)
                if limits is not None:
                    raise BudgetSpent(caller.run_id, limits)

        await self._database.with_retry(spend)

    async def _refuse(self, caller: Caller, server: str, turn: Turn, error: LLMError) -> None:
        wait_s = None if error.retry_after_s is None else max(error.retry_after_s, _SHORTEST_REFUSAL_S)
        log.warning("llm_server_refuses", server=server, status=error.status, retry_after_s=wait_s)

        async def refuse(connection: Connection) -> None:
            await llm_permits.refuse(connection, server, wait_s)
            if turn.has_budget:
                await run_limits.count(connection, caller.run_id, llm_calls=-1)

        await self._database.with_retry(refuse)

    async def _end(self, caller: Caller, server: str, turn: Turn, used: int | None) -> None:
        """After a call: what it used is None when that is unknown."""
        if turn.permit is not None:
            self._lines[server].give_back(Returned(turn.permit, used))
            await self._release(server)
        if used and (turn.has_waited or turn.has_budget):

            async def end(connection: Connection) -> None:
                await llm_permits.forget(connection, caller)
                await run_limits.count(connection, caller.run_id, tokens=used)

            await self._database.with_retry(end, retry_for_s=RESULT_RETRY_SECONDS)

    async def _release(self, server: str) -> None:
        """Release the permits of calls that ended, unless somebody waits, who does so when taking the next.

        A reply outlives a database that is away here: a permit ends with its stage at the latest.
        """
        line = self._lines[server]
        while line.returned and not len(line):
            returned = line.returned[0]
            line.is_given_back((returned,))
            try:
                await self._database.with_retry(partial(llm_permits.release, returned=returned))
            except DatabaseUnavailableError as error:
                log.warning("permit_left_to_its_stage", server=server, error=str(error))


class _Line:
    """The line before one server, and what holds it up."""

    def __init__(self, stay: int) -> None:
        self._stay = stay
        self._waiting = WaitingLine()
        self.in_progress = 0
        """Calls of this process that hold a permit."""
        self.returned: tuple[Returned, ...] = ()
        """Permits of calls that ended, which are not released yet."""
        self._moved = asyncio.Event()
        self._reason = WaitReason.CALLS
        self._until: float | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def place(self, since: float) -> "_PlaceInLine":
        """A place for the time of a block."""
        return _PlaceInLine(self, self._waiting, since)

    def keeps(self, place: Place) -> bool:
        """Whether somebody stays here who has waited long enough."""
        return self._reason is WaitReason.CALLS and self._waiting.before(place) < self._stay

    def note(self, reason: WaitReason, wait_s: float | None) -> None:
        """What the first found."""
        self._reason = reason
        self._until = None if wait_s is None else time.monotonic() + wait_s

    def busy(self, server: str, refusals: int) -> ServerBusy:
        """Why somebody who waited long enough is given back."""
        wait_s = _CALLS_WAIT_S if self._until is None else max(self._until - time.monotonic(), 0.0)
        return ServerBusy(server, self._reason, wait_s, refusals)

    @property
    def poll_s(self) -> float:
        """The time after which the first looks again, unless the line moves."""
        return _SLOW_POLL_S if self.in_progress else _POLL_S

    def give_back(self, returned: Returned) -> None:
        """The permit of a call that ended, for the first in the line."""
        self.in_progress -= 1
        self.returned += (returned,)
        self.move()

    def is_given_back(self, returned: Sequence[Returned]) -> None:
        """These permits are released."""
        self.returned = tuple(one for one in self.returned if one not in returned)

    def move(self) -> None:
        """Let everybody look again whether it is their turn."""
        self._moved.set()
        self._moved = asyncio.Event()

    async def moves_within(self, seconds: float) -> None:
        """Wait until the line moves, at most so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._moved.wait()


class _PlaceInLine:
    def __init__(self, line: _Line, waiting: WaitingLine, since: float) -> None:
        self._line = line
        self._waiting = waiting
        self._since = since

    async def __aenter__(self) -> "_PlaceInLine":
        self._place = self._waiting.join(self._since)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._waiting.leave(self._place)
        self._line.move()

    @property
    def may_stay(self) -> bool:
        """Whether it is one of those that stay however long it takes."""
        return self._line.keeps(self._place)

    async def comes_first_by(self, until: float) -> bool:
        """Wait until nobody is before it; False when that takes too long for one that may not stay."""
        while self._waiting.before(self._place):
            left_s = until - time.monotonic()
            if left_s <= 0 and not self.may_stay:
                return False
            await self._line.moves_within(left_s if left_s > 0 else IN_PLACE_S)
        return True


def _is_refusal(error: LLMError) -> bool:
    return error.status == 429 or (error.status == 503 and error.retry_after_s is not None)
