"""Contents of a Redis-protocol broker and commands to it, as text with encoded parts decoded."""

import base64
import binascii
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import redis

_ENCODED = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")


def everything_in(broker_url: str) -> str:
    """Every key and every value of the broker's database, whatever its type."""
    with redis.Redis.from_url(broker_url, decode_responses=True) as client:
        held = [f"{name} {_value(client, name)}" for name in map(str, client.scan_iter())]
    return decoded("\n".join(held))


def once_sent(broker_url: str, words: str) -> str:
    """Everything in the broker, as soon as these words are among it; what it has after half a minute otherwise."""
    deadline = time.monotonic() + 30
    while words not in (held := everything_in(broker_url)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return held


@contextmanager
def commands_received(broker_url: str) -> Iterator[list[str]]:
    """Every command that any client sends while the block runs, in a list that is filled as it goes."""
    commands: list[str] = []
    # Without a time-out: a busy machine sends no command for seconds.
    with (
        redis.Redis.from_url(broker_url, decode_responses=True, socket_timeout=None) as client,
        client.monitor() as monitor,
    ):

        def listen() -> None:
            for command in monitor.listen():
                commands.append(decoded(command["command"]))
                if "end of listening" in command["command"]:
                    return

        listener = threading.Thread(target=listen, name="monitor")
        listener.start()
        yield commands
        client.echo("end of listening")
        listener.join()


def decoded(text: str) -> str:
    """A text, followed by whatever in it is base64 of text: Celery encodes the bodies of its messages."""
    return "\n".join([text, *(plain for match in _ENCODED.findall(text) if (plain := _plain(match)))])


def _plain(encoded: str) -> str | None:
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _value(client: "redis.Redis", key: str) -> object:
    match client.type(key):
        case "string":
            return client.get(key)
        case "list":
            return client.lrange(key, 0, -1)
        case "set":
            return client.smembers(key)
        case "zset":
            return client.zrange(key, 0, -1)
        case "hash":
            return client.hgetall(key)
        case other:
            raise AssertionError(f"{key} is a {other!r}; read that too.")
