"""Is a server healthy? Each probe asks what a client would ask, and answers yes or no within about two seconds."""

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from stack.connections import broker_address
from stack.home import State

if TYPE_CHECKING:
    import redis

PROBE_TIMEOUT_S = 2.0


def execute(database_url: str, *statements: str, timeout_s: float = 30.0) -> None:
    """Execute statements over one connection, each in its own transaction. Runs in a thread, so that it may be called
    where an event loop is running. Errors of asyncpg come as they are."""
    import asyncpg

    async def run() -> None:
        connection = await asyncpg.connect(database_url, timeout=timeout_s, command_timeout=timeout_s)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close(timeout=timeout_s)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, run()).result()


def postgres_answers(database_url: str) -> bool:
    """SELECT 1 comes back."""
    import asyncpg

    try:
        execute(database_url, "SELECT 1", timeout_s=PROBE_TIMEOUT_S)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return False
    return True


def redis_client(redis_url: str) -> "redis.Redis":
    """A client that asks once, and not for long."""
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return redis.Redis.from_url(
        redis_url,
        socket_timeout=PROBE_TIMEOUT_S,
        socket_connect_timeout=PROBE_TIMEOUT_S,
        retry=Retry(NoBackoff(), retries=0),
    )


def broker_answers(broker_url: str) -> bool:
    """PING comes back from Redis or Valkey, which are not ready as long as they load their append-only file; RabbitMQ
    accepts user and virtual host."""
    if broker_url.startswith("redis"):
        import redis

        try:
            with redis_client(broker_url) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False
    from kombu import Connection
    from kombu.exceptions import KombuError

    url, tls = broker_address(broker_url)
    try:
        with Connection(url, ssl=tls or False, connect_timeout=PROBE_TIMEOUT_S) as connection:
            connection.connect()
    except (KombuError, OSError):
        return False
    return True


def http_answers(url: str) -> bool:
    """GET gives a 200. Proxies of the environment are not asked."""
    import httpx

    try:
        return httpx.get(url, timeout=PROBE_TIMEOUT_S, trust_env=False).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


WORKER = "worker-"


Ping = Callable[[str, Collection[str]], set[str]]
"""Which workers of this machine, out of these names, answer over this broker within about a second; none without a
broker. The caller provides it, because `stack` does not import `workers`."""


def healthy(parts: Collection[str], state: State, ping: Ping) -> set[str]:
    """Those of the parts of a stack, and of its servers, that answer now. All workers are asked at once."""
    workers = {part.removeprefix(WORKER) for part in parts if part.startswith(WORKER)}
    answering = ping(state.servers["REDIS_URL"], workers) if workers else set()
    others = {part for part in parts if not part.startswith(WORKER) and _answers(part, state)}
    return others | {f"{WORKER}{name}" for name in answering & workers}


def _answers(part: str, state: State) -> bool:
    match part:
        case "postgres":
            return postgres_answers(state.servers["DATABASE_URL"])
        case "valkey":
            return broker_answers(state.servers["REDIS_URL"])
        case "llm":
            return http_answers(f"{state.servers['OLLAMA_HOST']}/api/version")
        case "api":
            return http_answers(f"{state.api_url}/healthz")
        case "flower":
            return http_answers(f"{state.flower_url}/healthcheck")
        case _:
            raise ValueError(f"There is no way to ask {part} for its health.")
