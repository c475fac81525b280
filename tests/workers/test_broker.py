"""Messages: what they carry, what is dropped, and what indexing leaves to other work."""

import base64
import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from celery import Celery
from celery.events import EventDispatcher
from kombu import Connection, Consumer, Message, Queue
from kombu.asynchronous.timer import Timer
from structlog.testing import capture_logs

from stack.ports import free_port
from store.database import Database
from store.runs import jobs
from store.runs.runs import StoredRun
from tests.embedded import ValkeyServer
from tests.store.conftest import StoreRun
from workers import broker
from workers.app import KEY_PREFIX, make_app
from workers.broker import BACKGROUND, FIRST, NORMAL, BatchedEvents, checked, list_of
from workers.turns import QueueDepths, send

QUEUE = "embed"
THREADS = 4


@pytest.fixture
def link(valkey: ValkeyServer) -> Iterator[Connection]:
    """A connection with the settings of workers, to an empty broker."""
    with redis.Redis.from_url(valkey.url) as client:
        client.flushdb()
    with make_app(valkey.url).connection_for_read() as link:
        yield link


def publish(link: Connection, name: str, priority: int) -> None:
    with link.Producer() as producer:
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


def test_indexing_leaves_a_thread_free_and_a_question_takes_it(link: Connection, valkey: ValkeyServer) -> None:
    worker = Worker(link)
    for number in range(6):
        publish(link, f"import {number}", BACKGROUND)
    assert worker.look() == ["import 0", "import 1", "import 2"]
    found = QueueDepths(make_app(valkey.url)).read([QUEUE])
    assert (found.in_queue, found.waiting[QUEUE, BACKGROUND]) == ({QUEUE: 3}, 3)

    publish(link, "question", FIRST)
    assert worker.look() == ["import 0", "import 1", "import 2", "question"]

    worker.finish("import 0")
    assert worker.look() == ["import 1", "import 2", "question", "import 3"]


def test_the_next_indexing_does_not_wait_for_other_messages(link: Connection) -> None:
    worker = Worker(link)
    for number in range(10):
        publish(link, f"import {number}", BACKGROUND)
    worker.look()

    # The wait for messages of a worker that is not full lasts a second.
    for number in range(7):
        worker.finish(f"import {number}")
        assert f"import {number + 3}" in worker.look(for_s=0.3)


def test_a_question_goes_before_an_import_that_was_sent_first(link: Connection, valkey: ValkeyServer) -> None:
    publish(link, "import", BACKGROUND)
    publish(link, "question", FIRST)
    with redis.Redis.from_url(valkey.url) as client:
        lists = {key.decode() for key in client.keys(f"{KEY_PREFIX}{QUEUE}*")}
        assert lists == {f"{KEY_PREFIX}{broker.list_of(QUEUE, priority)}" for priority in (FIRST, BACKGROUND)}
        assert json.loads(client.lindex(f"{KEY_PREFIX}{QUEUE}", 0))["properties"]["priority"] == FIRST

    assert Worker(link).look() == ["question", "import"]


def test_what_is_no_message_is_dropped_and_the_queue_moves(link: Connection, valkey: ValkeyServer) -> None:
    no_json = [b"not json", b"\xff\x00", b"[" * 100_000]
    no_message = [b"{}", b"null", b"[1]", b"7", b'{"body": "", "headers": {}}']
    worker = Worker(link)
    with redis.Redis.from_url(valkey.url) as client:
        client.lpush(f"{KEY_PREFIX}{QUEUE}", *no_json, *no_message)
    publish(link, "after it", NORMAL)

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


def messages(valkey: ValkeyServer, queue: str, priority: int = NORMAL) -> list[dict[str, Any]]:
    """The messages that wait in a queue, first one first."""
    with redis.Redis.from_url(valkey.url) as client:
        held = client.lrange(f"{KEY_PREFIX}{list_of(queue, priority)}", 0, -1)
    found = [json.loads(message) for message in reversed(held)]
    return [message | {"body": json.loads(base64.b64decode(message["body"]))} for message in found]


async def chains(database: Database, stored: StoredRun) -> list[jobs.PendingChain]:
    async with database.connection() as connection:
        return await jobs.pending_chains(connection, stored.job_ids)


async def test_a_message_names_its_run_job_and_subject_and_nothing_else_and_a_chain_has_one_priority(
    database: Database, store_run: StoreRun, valkey: ValkeyServer, link: Connection
) -> None:
    stored = await store_run("316", "319")
    job_id, hurried = stored.job_ids
    nowhere = make_app(f"redis://127.0.0.1:{free_port()}/0")

    assert send(nowhere, await chains(database, stored)) == 0
    assert send(make_app(valkey.url), await chains(database, stored), {hurried: FIRST}) == 2

    (message,) = messages(valkey, "extract")
    arguments, named, embedded = message["body"]
    assert (arguments, named) == ([], {"run": stored.run_id, "job": job_id, "subject": "316"})
    assert (message["headers"]["id"], message["headers"]["root_id"]) == (f"j{job_id}:extract:1", f"r{stored.run_id}")
    assert [stage["options"]["task_id"] for stage in reversed(embedded["chain"])] == [
        f"j{job_id}:embed:1",
        f"j{job_id}:assemble:1",
    ]
    assert [stage["kwargs"] for stage in embedded["chain"]] == [named, named]
    (first,) = messages(valkey, "extract", FIRST)
    assert [stage["options"]["priority"] for stage in first["body"][2]["chain"]] == [FIRST, FIRST]


class Producer:
    """Records the number of events in each message."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def publish(self, events: list[dict[str, Any]], **_: Any) -> None:
        self.sizes.append(len(events))


def consumer_with(producer: Producer) -> SimpleNamespace:
    app = Celery(broker="memory://")
    dispatcher: Any = EventDispatcher(app.connection(), app=app, buffer_group=["task"], on_send_buffered=lambda: 1 / 0)
    dispatcher.producer = producer
    return SimpleNamespace(event_dispatcher=dispatcher, timer=Timer())


def test_events_are_sent_together_after_the_delay_at_once_when_they_are_many_and_not_after_the_end() -> None:
    producer = Producer()
    consumer = consumer_with(producer)
    step = BatchedEvents(consumer)
    step.start(consumer)

    for kind in ("task-received", "task-started", "task-succeeded"):
        consumer.event_dispatcher.send(kind, uuid="j1:embed:1")
    assert producer.sizes == []
    (due,) = consumer.timer.queue
    due.entry()
    assert producer.sizes == [3]

    for _ in range(consumer.event_dispatcher.buffer_limit):
        consumer.event_dispatcher.send("task-received", uuid="j1:embed:1")
    assert producer.sizes == [3, 24]

    step.stop(consumer)
    assert due.entry.canceled
