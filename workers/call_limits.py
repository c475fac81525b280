"""Calls of language models within the limits of their server and of their run.

A stage that finds its server busy waits for a second at most; then it is given back until its time has come. Some stay
that only wait for other calls to end, a quarter as many as are permitted at a time: they are what keeps every slot of
the server busy. In each process they stand in a line, and only the first of them asks for a permit.
"""

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast
from uuid import uuid4

import structlog
from limits import RateLimitItemPerMinute
from limits.aio.storage import RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from schemas.errors import LLMError, StackError
from schemas.settings.process import LLMLimits
from schemas.statuses import WaitReason
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from stages.models import estimated_tokens, used_tokens
from store.database import RESULT_RETRY_SECONDS, Connection, Database, DatabaseUnavailableError
from store.runs import backlog, ledger
from store.runs.ledger import Waited
from store.runs.stages import Claim
from workers.app import KEY_PREFIX
from workers.leases import BudgetSpent, ServerBusy

# A call holds a permit, which its process renews as a lease: that of a worker that was killed is free when it has run
# out. Requests and tokens are counted in a moving window of a minute. Refusals are known to all; without Redis, which
# RabbitMQ as a broker means, each process knows its own.

log = structlog.get_logger(__name__)

_NOW: Final = "local time = redis.call('TIME') local now = time[1] + time[2] / 1000000 "
# The milliseconds of a refusal that are left; -1 where no permit is free; 0 when the permit is taken, or renewed.
TAKE: Final = f"""{_NOW}
local left = tonumber(redis.call('GET', KEYS[1]) or 0) - now
if left > 0 then return math.ceil(left * 1000) end
local most = tonumber(ARGV[1])
if most == 0 then return 0 end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('ZCARD', KEYS[2]) >= most and not redis.call('ZSCORE', KEYS[2], ARGV[3]) then return -1 end
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[3])
redis.call('EXPIRE', KEYS[2], math.ceil(ARGV[2]))
return 0
"""
REFUSE: Final = f"""{_NOW}
if tonumber(redis.call('GET', KEYS[1]) or 0) < now + ARGV[1] then
    redis.call('SET', KEYS[1], now + ARGV[1], 'EX', math.ceil(ARGV[1]))
end
"""
#: The window has an entry for each unit: so many at most, whatever the limit of tokens is.
_MOST_UNITS: Final = 10_000
_TIMEOUT_S: Final = 1.0
_AWAY_S: Final = 5.0
_CALLS_WAIT_S: Final = 10.0
"""A stage that waits for other calls to end is brought forward when one ends; this is for calls whose worker died."""


class Busy(NamedTuple):
    """Why a server takes no call now."""

    reason: WaitReason
    wait_s: float
    """The time until it may, as far as it is known."""


def client(broker_url: str, limits: LLMLimits) -> "Redis | None":
    """The Redis that counts; None with another broker. Raises StackError when there are limits then."""
    if broker_url.startswith("redis"):
        return Redis.from_url(
            broker_url,
            socket_timeout=_TIMEOUT_S,
            socket_connect_timeout=_TIMEOUT_S,
            retry=Retry(NoBackoff(), retries=0),
        )
    if any(limits):
        raise StackError(
            "RAGQ_LLM_CONCURRENCY, RAGQ_LLM_RPM and RAGQ_LLM_TPM are counted in Redis or Valkey, and REDIS_URL names "
            "another broker. Unset them, or name a Redis or Valkey."
        )
    return None


class ServerLimits:
    """The limits of each server."""

    def __init__(self, limits: LLMLimits, redis: "Redis | None", *, lease_s: float) -> None:
        self._limits = limits
        self._redis = redis
        self._lease_s = lease_s
        self._refused: dict[str, float] = {}
        if redis is None:
            return
        self._take: Any = redis.register_script(TAKE)
        self._refuse: Any = redis.register_script(REFUSE)
        # The pool is the client's; the address only says that it is one of Redis.
        pool = cast(Any, redis.connection_pool)
        self._window = MovingWindowRateLimiter(
            RedisStorage(
                "async+redis://", implementation="redispy", key_prefix=f"{KEY_PREFIX}llm", connection_pool=pool
            )
        )

    async def take(self, server: str, permit: str, tokens: int) -> Busy | None:
        """Take a permit for a call of so many tokens, or say why there is none."""
        refused_s = self._refused.get(server, 0.0) - time.monotonic()
        if refused_s > 0:
            return Busy(WaitReason.REFUSED, refused_s)
        if self._redis is None:
            return None
        try:
            return await self._take_shared(server, permit, tokens)
        except RedisError as error:
            log.warning("limits_unknown", server=server, error_type=type(error).__name__)
            return Busy(WaitReason.CALLS, _AWAY_S) if any(self._limits) else None

    async def refuse(self, server: str, wait_s: float) -> None:
        """Let nobody call a server for so long."""
        self._refused[server] = max(self._refused.get(server, 0.0), time.monotonic() + wait_s)
        if self._redis is not None:
            with suppress(RedisError):
                await self._refuse(keys=[_key("refused", server)], args=[wait_s])

    @asynccontextmanager
    async def renewed(self, server: str, permit: str) -> AsyncIterator[None]:
        """Keep a permit that is taken, and give it back at the end."""
        renewing = asyncio.create_task(self._renew(server, permit)) if self._limits.calls else None
        try:
            yield
        finally:
            if renewing is not None:
                renewing.cancel()
            await self.release(server, permit)

    async def release(self, server: str, permit: str) -> None:
        """Give a permit back. Repeated, or where none was taken, it does nothing; one that is lost runs out."""
        if self._redis is not None and self._limits.calls:
            with suppress(RedisError):
                await self._redis.zrem(_key("calls", server), permit)

    async def _take_shared(self, server: str, permit: str, tokens: int) -> Busy | None:
        left = await self._permit(server, permit)
        if left:
            return Busy(WaitReason.CALLS, _CALLS_WAIT_S) if left < 0 else Busy(WaitReason.REFUSED, left / 1000)
        windows = self._windows(tokens)
        for reason, item, cost in windows:
            if not await self._window.test(item, reason, server, cost=cost):
                await self.release(server, permit)
                freed = (await self._window.get_window_stats(item, reason, server)).reset_time
                return Busy(reason, max(freed - time.time(), 0.05))
        for reason, item, cost in windows:
            await self._window.hit(item, reason, server, cost=cost)
        return None

    async def _permit(self, server: str, permit: str) -> int:
        keys = [_key("refused", server), _key("calls", server)]
        left: int = await self._take(keys=keys, args=[self._limits.calls or 0, self._lease_s, permit])
        return left

    def _windows(self, tokens: int) -> list[tuple[WaitReason, RateLimitItemPerMinute, int]]:
        windows = []
        if self._limits.requests:
            windows.append((WaitReason.REQUESTS, RateLimitItemPerMinute(self._limits.requests), 1))
        if most := self._limits.tokens:
            # A call that is larger than the limit is made when no other one was made in the last minute.
            units = min(most, _MOST_UNITS)
            cost = min(math.ceil(tokens * units / most), units)
            windows.append((WaitReason.TOKENS, RateLimitItemPerMinute(units), cost))
        return windows

    async def _renew(self, server: str, permit: str) -> None:
        while True:
            await asyncio.sleep(self._lease_s / 3)
            with suppress(RedisError):
                await self._permit(server, permit)


def _key(what: str, server: str) -> str:
    return f"{KEY_PREFIX}llm:{what}:{server}"


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
        self, claim: Claim, server: str, call: ChatCall, send: Callable[[], Awaitable[ChatReply]]
    ) -> ChatReply:
        """Send a call once the limits permit it, and again after each refusal of the server.

        Raises ServerBusy when that takes longer than a second, BudgetSpent when the run may pay for no further call,
        and whatever `send` raises.
        """
        waited = await self._database.ask(ledger.of, claim)
        refusals = waited.refusals
        while True:
            permit = await self._turn(server, estimated_tokens(call), refusals)
            try:
                async with self._servers.renewed(server, permit):
                    await self._spend(claim, waited)
                    reply = await send()
            except LLMError as error:
                refusals += 1
                if not _is_refusal(error) or refusals >= MOST_REFUSALS:
                    raise
                await self._refuse(claim, server, waited, error, refusals)
                continue
            finally:
                await self._bring_forward(server)
            await self._count(claim, waited, used_tokens(call, reply))
            return reply

    async def look_up(self, claim: Claim, find: Callable[[], Awaitable[ModelIdentity]]) -> ModelIdentity:
        """Find the model of a call, which is no call. Raises ServerBusy when the server refuses that too."""
        try:
            return await find()
        except LLMError as error:
            if not _is_refusal(error):
                raise
            waited = await self._database.ask(ledger.of, claim)
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

    async def _spend(self, claim: Claim, waited: Waited) -> None:
        if waited.has_budget and not await self._database.ask(backlog.spend_call, claim.run_id):
            limits = await self._database.ask(backlog.find, claim.run_id)
            if limits is not None:
                raise BudgetSpent(claim.run_id, limits)

    async def _refuse(self, claim: Claim, server: str, waited: Waited, error: LLMError, refusals: int) -> None:
        wait_s = max(_refused_s(error, refusals), _SHORTEST_REFUSAL_S)
        log.warning("llm_server_refuses", server=server, status=error.status, wait_s=wait_s)
        await self._servers.refuse(server, wait_s)
        if waited.has_budget:
            await self._database.ask(backlog.count, claim.run_id, llm_calls=-1)

    async def _bring_forward(self, server: str) -> None:
        """After a call: the slot is for the first in the line of this process, else for who was given back."""
        if not self._has_slots or self._lines[server].places:
            return
        try:
            await self._database.ask(ledger.bring_forward, server)
        except DatabaseUnavailableError as error:
            # A reply outlives a database that is away here: those who wait come back by themselves.
            log.warning("nobody_brought_forward", server=server, error=str(error))

    async def _count(self, claim: Claim, waited: Waited, used: int) -> None:
        if not (waited.has_waited or waited.has_budget):
            return

        async def count(connection: Connection) -> None:
            await ledger.forget(connection, claim)
            await backlog.count(connection, claim.run_id, tokens=used)

        await self._database.with_retry(count, retry_for_s=RESULT_RETRY_SECONDS)


def _is_refusal(error: LLMError) -> bool:
    return error.status == 429 or (error.status == 503 and error.retry_after_s is not None)


def _refused_s(error: LLMError, refusals: int) -> float:
    """Seconds of a refusal; one that names none takes 2 s, and twice the last one when the call is refused again."""
    return 2.0 ** min(refusals, 6) if error.retry_after_s is None else error.retry_after_s
