"""Calls of language models within the limits of their server and of their run.

A stage that finds its server busy waits for a second; then it is given back until its time has come. A call holds a
permit, which its process renews as a lease. Requests and tokens are counted in a moving window of a minute. Refusals
are known to all; without Redis, which RabbitMQ as a broker means, each process knows its own.
"""

import asyncio
import math
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final, cast
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
from schemas.settings.process import ProcessSettings
from schemas.statuses import WaitReason
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from stages.models import estimated_tokens, used_tokens
from store.database import RESULT_RETRY_SECONDS, Database, DatabaseUnavailableError
from store.runs import backlog, ledger
from store.runs.stages import Claim
from workers.app import KEY_PREFIX
from workers.leases import BudgetSpent, ServerBusy

log = structlog.get_logger(__name__)

_REFUSED: Final = f"{KEY_PREFIX}llm:refused:"
_CALLS: Final = f"{KEY_PREFIX}llm:calls:"

# The milliseconds of a refusal that are left; -1 where no permit is free; 0 when the permit is taken, or renewed.
PERMIT: Final = """
local most = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if not redis.call('ZSCORE', KEYS[2], ARGV[3]) then
    local left = redis.call('PTTL', KEYS[1])
    if left > 0 then return left end
    if most == 0 then return 0 end
    if redis.call('ZCARD', KEYS[2]) >= most then return -1 end
end
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[3])
redis.call('EXPIRE', KEYS[2], math.ceil(ARGV[2]))
return 0
"""

#: A call that was refused so often fails.
MOST_REFUSALS: Final = 20

Busy = tuple[WaitReason, float]
"""Why a server takes no call now, and the seconds until it may, as far as they are known."""
#: A stage that waits for other calls is brought forward when one ends; the time is for calls whose worker died.
_FULL: Final[Busy] = (WaitReason.CALLS, 10.0)


def _has_limits(settings: ProcessSettings) -> bool:
    return any((settings.ragq_llm_concurrency, settings.ragq_llm_rpm, settings.ragq_llm_tpm))


def client(broker_url: str, settings: ProcessSettings) -> Redis | None:
    """The Redis that counts; None with another broker. Raises StackError when there are limits then."""
    if broker_url.startswith("redis"):
        return Redis.from_url(broker_url, socket_timeout=1, socket_connect_timeout=1, retry=Retry(NoBackoff(), 0))
    if _has_limits(settings):
        raise StackError(
            "Name a Redis or Valkey in REDIS_URL, or unset RAGQ_LLM_CONCURRENCY, RAGQ_LLM_RPM and RAGQ_LLM_TPM."
        )
    return None


class CallLimits:
    """The calls of one process, within limits that all processes share."""

    def __init__(
        self, database: Database, settings: ProcessSettings, redis: Redis | None = None, *, lease_s: float = 6.0
    ) -> None:
        self._database = database
        self._settings = settings
        self._slots = settings.ragq_llm_concurrency
        self._lease_s = lease_s
        self._waiting: Counter[str] = Counter()
        self._refused_until: defaultdict[str, float] = defaultdict(float)
        self._redis = redis
        if redis is None:
            return
        self._permit: Any = redis.register_script(PERMIT)
        # The pool is the client's; the address only says that it is one of Redis.
        pool, prefix = cast(Any, redis.connection_pool), f"{KEY_PREFIX}llm"
        storage = RedisStorage("async+redis://", implementation="redispy", key_prefix=prefix, connection_pool=pool)
        self._window = MovingWindowRateLimiter(storage)

    async def ask(
        self, claim: Claim, server: str, call: ChatCall, send: Callable[[], Awaitable[ChatReply]]
    ) -> ChatReply:
        """Send a call once the limits permit it, and again after each refusal of the server.

        Raises ServerBusy when that takes longer than a second, BudgetSpent when the run may pay for no further call,
        and whatever `send` raises.
        """
        refusals, has_waited, has_budget = await self._database.ask(ledger.of, claim)
        while True:
            try:
                async with self._permitted(server, estimated_tokens(call), refusals):
                    if has_budget and (spent := await self._database.ask(backlog.spend_call, claim.run_id)):
                        raise BudgetSpent(claim.run_id, spent)
                    reply = await send()
            except LLMError as error:
                refusals += 1
                wait_s = _refused_s(error, refusals)
                log.warning("llm_server_refuses", server=server, status=error.status, wait_s=wait_s)
                await self._refuse_all(server, wait_s)
                if has_budget:
                    await self._database.ask(backlog.count, claim.run_id, llm_calls=-1)
            else:
                if has_waited or has_budget:
                    answered = partial(ledger.answered, claim=claim, tokens=used_tokens(call, reply))
                    await self._database.with_retry(answered, retry_for_s=RESULT_RETRY_SECONDS)
                return reply

    async def look_up(self, claim: Claim, find: Callable[[], Awaitable[ModelIdentity]]) -> ModelIdentity:
        """Find the model of a call, which is no call. Raises ServerBusy when the server refuses that too."""
        try:
            return await find()
        except LLMError as error:
            refusals = (await self._database.ask(ledger.of, claim))[0] + 1
            wait_s = _refused_s(error, refusals)
            raise ServerBusy("the list of models", WaitReason.REFUSED, wait_s, refusals) from None

    async def take(self, server: str, permit: str, tokens: int) -> Busy | None:
        """Take a permit for a call of so many tokens, or say why there is none."""
        if (refused_s := self._refused_until[server] - time.monotonic()) > 0:
            return WaitReason.REFUSED, refused_s
        if self._redis is None:
            return None
        try:
            if left := await self._hold(server, permit):
                return _FULL if left < 0 else (WaitReason.REFUSED, left / 1000)
            if (busy := await self._begin(server, tokens)) is not None:
                await self._release(server, permit)
            return busy
        except RedisError as error:
            log.warning("limits_unknown", server=server, error_type=type(error).__name__)
            return (WaitReason.CALLS, 5.0) if _has_limits(self._settings) else None

    @asynccontextmanager
    async def _permitted(self, server: str, tokens: int, refusals: int) -> AsyncIterator[None]:
        """Until the end of the block a permit is held. Raises ServerBusy."""
        # A stage keeps its thread so long, whatever is needed: no worker takes and gives back one after another.
        permit, deadline = uuid4().hex, time.monotonic() + 1.0
        renewing = asyncio.create_task(self._renew(server, permit))
        self._waiting[server] += 1
        try:
            try:
                while (busy := await self.take(server, permit, tokens)) is not None:
                    if (left_s := deadline - time.monotonic()) <= 0:
                        raise ServerBusy(server, *busy, refusals)
                    await asyncio.sleep(min(0.05 if busy == _FULL else busy[1], left_s))
            finally:
                self._waiting[server] -= 1
            yield
        finally:
            renewing.cancel()
            await self._release(server, permit)

    async def _hold(self, server: str, permit: str) -> int:
        """See PERMIT."""
        found = await self._permit(keys=[_REFUSED + server, _CALLS + server], args=[self._slots, self._lease_s, permit])
        return int(found)

    async def _renew(self, server: str, permit: str) -> None:
        while self._slots:
            await asyncio.sleep(self._lease_s / 3)
            with suppress(RedisError):
                await self._hold(server, permit)

    async def _release(self, server: str, permit: str) -> None:
        """Give back a permit, if it was taken: to who waits in this process, else to who was given back."""
        if self._redis is None or not self._slots:
            return
        # A reply outlives a broker or a database that is away here: those who wait come back by themselves.
        with suppress(RedisError, DatabaseUnavailableError):
            if await self._redis.zrem(_CALLS + server, permit) and not self._waiting[server]:
                await self._database.ask(ledger.bring_forward, server)

    async def _begin(self, server: str, tokens: int) -> Busy | None:
        """Count a request and its tokens, where this minute has room for both."""
        most = self._settings.ragq_llm_tpm
        # The window has an entry for each unit.
        units = min(most, 10_000)
        # A call that is larger than the limit is made when no other one was made in the last minute.
        cost = min(math.ceil(tokens * units / most), units) if most else 0
        limits = ((WaitReason.REQUESTS, self._settings.ragq_llm_rpm, 1), (WaitReason.TOKENS, units, cost))
        windows = [(reason, RateLimitItemPerMinute(limit), cost) for reason, limit, cost in limits if limit]
        for reason, item, cost in windows:
            if not await self._window.test(item, reason, server, cost=cost):
                freed = (await self._window.get_window_stats(item, reason, server)).reset_time
                return reason, max(freed - time.time(), 0.05)
        for reason, item, cost in windows:
            await self._window.hit(item, reason, server, cost=cost)
        return None

    async def _refuse_all(self, server: str, wait_s: float) -> None:
        """Let nobody call a server for so long."""
        wait_ms = math.ceil(wait_s * 1000)
        self._refused_until[server] = max(self._refused_until[server], time.monotonic() + wait_s)
        if self._redis is not None:
            with suppress(RedisError):
                await self._redis.set(_REFUSED + server, "", px=wait_ms, nx=True)
                await self._redis.pexpire(_REFUSED + server, wait_ms, gt=True)


def _refused_s(error: LLMError, refusals: int) -> float:
    """Seconds of a refusal, half a one at least; one that names none takes 2 s, and twice the last when it is repeated.

    Raises the error where it is no refusal, or was one too often.
    """
    is_refusal = error.status == 429 or (error.status == 503 and error.retry_after_s is not None)
    if not is_refusal or refusals >= MOST_REFUSALS:
        raise error
    return 2.0 ** min(refusals, 6) if error.retry_after_s is None else max(error.retry_after_s, 0.5)
