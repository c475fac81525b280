"""Workers that were seen just now."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from schemas.values.runs import Environment
from stack.home import this_environment
from store.database import Connection
from store.runs import workers

NO_SERVERS: Final[Mapping[str, str | None]] = MappingProxyType({})


async def enroll(
    connection: Connection,
    *stages: str,
    name: str = "w",
    host: str = "h",
    pid: int = 1,
    environment: Environment | None = None,
    servers: Mapping[str, str | None] = NO_SERVERS,
    concurrency: int = 1,
    broker: str = "broker",
) -> None:
    """A worker of one process that takes these stages."""
    await workers.enroll(
        connection,
        name,
        host=host,
        pid=pid,
        stages=stages,
        environment=environment or this_environment(),
        servers=servers,
        concurrency=concurrency,
        broker=broker,
    )
