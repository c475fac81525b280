"""Workers that were seen just now."""

from typing import Any

from stack.home import this_environment
from store.database import Connection
from store.runs import workers


async def enroll(connection: Connection, *stages: str, name: str = "w", **others: Any) -> None:
    """A worker of one process that takes these stages, with `others` as they are given."""
    made: dict[str, Any] = {"host": "h", "pid": 1, "servers": {}, "concurrency": 1, "broker": "broker"}
    environment = others.pop("environment", None) or this_environment()
    await workers.enroll(connection, name, stages=stages, environment=environment, **made | others)
