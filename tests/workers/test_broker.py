"""Messages of indexing leave threads of a worker to other work."""

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Message, Queue
from structlog.testing import capture_logs

from tests.embedded import ValkeyServer
from workers import broker
from workers.app import KEY_PREFIX, make_app
from workers.broker import BACKGROUND, FIRST, NORMAL, checked
from workers.turns import QueueDepths

QUEUE = "embed"
THREADS = 4


@pytest.fixture
def connection(valkey: ValkeyServer) -> Iterator[Connection]:
    """A connection with the settings of workers, to an empty broker."""
    with redis.Redis.from_url(valkey.url) as client:
        client.flushdb()
    with make_app(valkey.url).connection_for_read() as connection:
        yield connection


def send(connection: Connection, name: str, priority: int) -> None:
    with connection.Producer() as producer:
        producer.publish({"name": name}, exchange="ragq", routing_key=QUEUE, declare=[the_queue()], priority=priority)


def the_queue() -> Queue:
    """The queue as workers declare it."""
    queue: Queue
    (queue,) = (queue for queue in make_app("redis://").conf.task_queues if queue.name == QUEUE)
    return queue


class Worker:
    """Takes messages and finishes none until it is told to."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.held: dict[str, Message] = {}
        self._consumer = Consumer(connection, [the_queue()], callbacks=[self._take], prefetch_count=THREADS)
        self._consumer.consume()

    def _take(self, body: dict[str, str], message: Message) -> None:
        self.held[body["name"]] = message

    def look(self, for_s: float = 1.5) -> list[str]:
        """Take what comes, until nothing comes; what is held then."""
        with suppress(socket.timeout):
            while True:
                self._connection.drain_events(timeout=for_s)
        return list(self.held)

    def finish(self, name: str) -> None:
        self.held.pop(name).ack()


def test_indexing_leaves_a_thread_free_and_a_question_takes_it(connection: Connection, valkey: ValkeyServer) -> None:
    worker = Worker(connection)
    for number in range(6):
        send(connection, f"import {number}", BACKGROUND)
    assert worker.look() == ["import 0", "import 1", "import 2"]
    found = QueueDepths(make_app(valkey.url)).read([QUEUE])
    assert (found.in_queue, found.waiting[QUEUE, BACKGROUND]) == ({QUEUE: 3}, 3)

    send(connection, "question", FIRST)
    assert worker.look() == ["import 0", "import 1", "import 2", "question"]

    worker.finish("import 0")
    assert worker.look() == ["import 1", "import 2", "question", "import 3"]


def test_the_next_indexing_does_not_wait_for_other_messages(connection: Connection) -> None:
    worker = Worker(connection)
    for number in range(10):
        send(connection, f"import {number}", BACKGROUND)
    worker.look()

    # The wait for messages of a worker that is not full lasts a second.
    for number in range(7):
        worker.finish(f"import {number}")
        assert f"import {number + 3}" in worker.look(for_s=0.3)


def test_a_question_goes_before_an_import_that_was_sent_first(connection: Connection, valkey: ValkeyServer) -> None:
    send(connection, "import", BACKGROUND)
    send(connection, "question", FIRST)
    with redis.Redis.from_url(valkey.url) as client:
        lists = {key.decode() for key in client.keys(f"{KEY_PREFIX}{QUEUE}*")}
        assert lists == {f"{KEY_PREFIX}{broker.list_of(QUEUE, priority)}" for priority in (FIRST, BACKGROUND)}
        assert json.loads(client.lindex(f"{KEY_PREFIX}{QUEUE}", 0))["properties"]["priority"] == FIRST

    assert Worker(connection).look() == ["question", "import"]


def test_what_is_no_message_is_dropped_and_the_queue_moves(connection: Connection, valkey: ValkeyServer) -> None:
    no_json = [b"not json", b"\xff\x00", b"[" * 100_000]
    no_message = [b"{}", b"null", b"[1]", b"7", b'{"body": "", "headers": {}}']
    worker = Worker(connection)
    with redis.Redis.from_url(valkey.url) as client:
        client.lpush(f"{KEY_PREFIX}{QUEUE}", *no_json, *no_message)
    send(connection, "after it", NORMAL)

    with capture_logs() as lines:
        held = worker.look()

    assert held == ["after it"]
    reasons = ["no JSON"] * len(no_json) + ["no message of Celery"] * len(no_message)
    assert [(line["event"], line["reason"]) for line in lines] == [("message_dropped", one) for one in reasons]


GOOD: dict[str, Any] = {
    "body": json.dumps([[], {"run": 1, "job": 7, "subject": "1"}, {"chain": None}]),
    "content_type": "application/json",
    "content_encoding": "utf-8",
    "headers": {"task": "ragq.embed", "id": "j7:embed:1", "eta": None},
}


@pytest.mark.parametrize(
    "changes",
    [
        {"body": None},
        {"body": "7"},
        {"body": "[]"},
        {"body": "[" * 100_000},
        {"body": "[[], [], {}]"},
        {"body": '[[], {"run": 1, "job": "7; DROP TABLE job", "subject": "1"}, {}]'},
        {"body": '[[], {"run": 1, "job": 1e400, "subject": "1"}, {}]'},
        {"body": f'[[], {{"run": 1, "job": {10**40}, "subject": "1"}}, {{}}]'},
        {"body": "x" * 2_000_000},
        {"body": b"\x80\x04K\x07.", "content_type": "application/x-python-serialize", "content_encoding": "binary"},
        {"body": "a: 1", "content_type": "application/x-yaml"},
        {"headers": {"task": "os.system"}},
        {"headers": {}},
        {"headers": GOOD["headers"] | {"eta": "2999-01-01T00:00:00+00:00"}},
        {"headers": GOOD["headers"] | {"expires": "never"}},
        {"headers": GOOD["headers"] | {"compression": "application/x-gzip"}},
    ],
)
def test_a_message_that_ragq_does_not_send_is_dropped_with_one_line(changes: dict[str, Any]) -> None:
    received: list[Message] = []
    acknowledged: list[str] = []

    class Channel:
        no_ack_consumers: frozenset[str] = frozenset()

        def basic_ack(self, tag: str, **_: Any) -> None:
            acknowledged.append(tag)

    receive = checked(received.append)
    with capture_logs() as lines:
        for tag, values in (("bad", GOOD | changes), ("good", GOOD)):
            receive(Message(channel=Channel(), delivery_tag=tag, **values))

    assert [message.delivery_tag for message in received] == ["good"]
    assert (acknowledged, [line["reason"] for line in lines]) == (["bad"], ["no task of ragq"])
