"""Messages: what they carry, what is dropped, and what indexing leaves to other work."""

import base64
import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from celery import Celery
from celery.events import EventDispatcher
from kombu import Connection, Consumer, Message, Queue
from kombu.asynchronous.timer import Timer
from structlog.testing import capture_logs

from stack.ports import free_port
from store.database import Database
from store.runs import jobs
from tests.store.conftest import StoreRun
from tests.workers.conftest import Broker, key
from workers.app import KEY_PREFIX, make_app
from workers.broker import BACKGROUND, FIRST, NORMAL, BatchedEvents, checked
from workers.turns import QueueDepths, send

QUEUE = "embed"
THREADS = 4


@pytest.fixture
def link(broker: Broker) -> Iterator[Connection]:
    """A connection with the settings of workers."""
    with make_app(broker.url).connection_for_read() as link:
        yield link


def publish(link: Connection, priority: int, *names: str) -> None:
    with link.Producer() as producer:
        for name in names:
            body = {"name": name}
            producer.publish(body, exchange="ragq", routing_key=QUEUE, declare=[the_queue()], priority=priority)


def the_queue() -> Queue:
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


def test_indexing_leaves_a_thread_free_and_a_question_takes_it(link: Connection, broker: Broker) -> None:
    worker = Worker(link)
    publish(link, BACKGROUND, *(f"import {number}" for number in range(6)))
    assert worker.look() == ["import 0", "import 1", "import 2"]
    found = QueueDepths(make_app(broker.url)).read([QUEUE])
    assert (found.in_queue, found.waiting[QUEUE, BACKGROUND]) == ({QUEUE: 3}, 3)

    publish(link, FIRST, "question")
    assert worker.look() == ["import 0", "import 1", "import 2", "question"]

    worker.finish("import 0")
    assert worker.look() == ["import 1", "import 2", "question", "import 3"]


def test_the_next_indexing_does_not_wait_for_other_messages(link: Connection) -> None:
    worker = Worker(link)
    publish(link, BACKGROUND, *(f"import {number}" for number in range(10)))
    worker.look()

    # The wait for messages of a worker that is not full lasts a second.
    for number in range(7):
        worker.finish(f"import {number}")
        assert f"import {number + 3}" in worker.look(for_s=0.3)


def test_a_question_goes_before_an_import_that_was_sent_first(link: Connection, broker: Broker) -> None:
    publish(link, BACKGROUND, "import")
    publish(link, FIRST, "question")
    lists = {key.decode() for key in broker.client.keys(f"{KEY_PREFIX}{QUEUE}*")}
    assert lists == {key(QUEUE, priority) for priority in (FIRST, BACKGROUND)}
    assert json.loads(broker.client.lindex(key(QUEUE, FIRST), 0))["properties"]["priority"] == FIRST

    assert Worker(link).look() == ["question", "import"]


def test_what_is_no_message_is_dropped_and_the_queue_moves(link: Connection, broker: Broker) -> None:
    no_json = [b"not json", b"\xff\x00", b"[" * 100_000]
    no_message = [b"{}", b"null", b"[1]", b"7", b'{"body": "", "headers": {}}']
    broker.client.lpush(key(QUEUE, FIRST), *no_json, *no_message)
    publish(link, NORMAL, "after it")

    with capture_logs() as lines:
        assert Worker(link).look() == ["after it"]

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
    channel = Mock(no_ack_consumers=frozenset())
    receive = checked(received.append)
    with capture_logs() as lines:
        for tag, values in (("bad", GOOD | changes), ("good", GOOD)):
            receive(Message(channel=channel, delivery_tag=tag, **values))

    assert [message.delivery_tag for message in received] == ["good"]
    assert [line["reason"] for line in lines] == ["no task of ragq"]
    assert [call.args for call in channel.basic_ack.call_args_list] == [("bad",)]


def only_message(broker: Broker, priority: int) -> tuple[dict[str, Any], list[Any]]:
    """The headers and the body of the message for `extract`."""
    (held,) = broker.client.lrange(key("extract", priority), 0, -1)
    message = json.loads(held)
    return message["headers"], json.loads(base64.b64decode(message["body"]))


async def test_a_message_names_its_run_job_and_subject_and_nothing_else_and_a_chain_has_one_priority(
    database: Database, store_run: StoreRun, broker: Broker
) -> None:
    stored = await store_run("316", "319")
    job_id, hurried = stored.job_ids
    chains = await database.ask(jobs.pending_chains, stored.job_ids)

    assert send(make_app(f"redis://127.0.0.1:{free_port()}/0"), chains) == 0
    assert send(make_app(broker.url), chains, {hurried: FIRST}) == 2

    headers, (arguments, named, embedded) = only_message(broker, NORMAL)
    assert (arguments, named) == ([], {"run": stored.run_id, "job": job_id, "subject": "316"})
    assert (headers["id"], headers["root_id"]) == (f"j{job_id}:extract:1", f"r{stored.run_id}")
    task_ids = [stage["options"]["task_id"] for stage in reversed(embedded["chain"])]
    assert task_ids == [f"j{job_id}:embed:1", f"j{job_id}:assemble:1"]
    assert [stage["kwargs"] for stage in embedded["chain"]] == [named, named]
    _, (_, _, first) = only_message(broker, FIRST)
    assert [stage["options"]["priority"] for stage in first["chain"]] == [FIRST, FIRST]


def test_events_are_sent_together_after_the_delay_at_once_when_they_are_many_and_not_after_the_end() -> None:
    app = Celery(broker="memory://")
    dispatcher: Any = EventDispatcher(app.connection(), app=app, buffer_group=["task"], on_send_buffered=lambda: 1 / 0)
    dispatcher.producer = Mock()
    consumer = SimpleNamespace(event_dispatcher=dispatcher, timer=Timer())
    step = BatchedEvents(consumer)
    step.start(consumer)

    def sizes() -> list[int]:
        return [len(call.args[0]) for call in dispatcher.producer.publish.call_args_list]

    for kind in ("task-received", "task-started", "task-succeeded"):
        dispatcher.send(kind, uuid="j1:embed:1")
    assert sizes() == []
    (due,) = consumer.timer.queue
    due.entry()
    assert sizes() == [3]

    for _ in range(dispatcher.buffer_limit):
        dispatcher.send("task-received", uuid="j1:embed:1")
    assert sizes() == [3, 24]

    step.stop(consumer)
    assert due.entry.canceled
