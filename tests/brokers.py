"""The databases of the broker of a process."""

from collections.abc import Iterator
from contextlib import contextmanager

import redis

from tests.embedded import ValkeyServer

#: Databases of the broker that nobody uses: a worker would take the messages of another. The first is spare.
_free_brokers = list(range(1, 16))


@contextmanager
def broker_of_its_own(valkey: ValkeyServer) -> Iterator[str]:
    """The URL of an empty database of the broker, which no other test uses meanwhile."""
    number = _free_brokers.pop(0)
    url = f"{valkey.url.rsplit('/', 1)[0]}/{number}"
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    try:
        yield url
    finally:
        _free_brokers.append(number)
