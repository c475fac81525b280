"""Brokers of a test's own."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import redis

from tests.brokers import broker_of_its_own
from tests.embedded import ValkeyServer
from tests.eventually import until
from workers.app import KEY_PREFIX
from workers.broker import NORMAL, list_of


@dataclass
class Broker:
    """A database of the broker, which is empty at first."""

    url: str
    client: Any

    def depth(self, priority: int = NORMAL) -> int:
        return int(self.client.llen(key("extract", priority)))

    async def holds(self, count: int, priority: int = NORMAL) -> None:
        await until(lambda: self.depth(priority) == count)


def key(queue: str, priority: int = NORMAL) -> str:
    return f"{KEY_PREFIX}{list_of(queue, priority)}"


@pytest.fixture
def broker(valkey: ValkeyServer) -> Iterator[Broker]:
    with broker_of_its_own(valkey) as url, redis.Redis.from_url(url) as client:
        yield Broker(url, client)


#: Of another cluster of workers.
other = broker
