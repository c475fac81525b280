"""What all workers together may ask of a server of language models at this moment, counted in the Redis of the broker.

A call holds a permit, which its process renews as a lease: that of a worker that was killed is free when it has run
out. Requests and tokens are counted in a moving window of a minute. Refusals are known to all; without Redis, which
RabbitMQ as a broker means, each process knows its own.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple, cast

import structlog
from limits import RateLimitItemPerMinute
from limits.aio.storage import RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from schemas.errors import StackError
from schemas.settings.process import LLMLimits
from schemas.statuses import WaitReason
from workers.app import KEY_PREFIX

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
