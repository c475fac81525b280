"""What one worker process keeps between tasks: a loop, a database pool, its leases, the dispatcher and the adapters.

The pool of Celery runs stages in it.

Built on first use and keyed by process id, because a forked child must not share a parent's connections.
"""

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from queue import Empty, SimpleQueue
from types import ModuleType
from typing import Any, Final
from uuid import uuid4

import structlog
from celery import Celery, Task
from celery.app import app_or_default
from celery.concurrency.base import apply_target
from celery.concurrency.thread import TaskPool
from celery.exceptions import Ignore
from kombu.exceptions import ContentDisallowed, DecodeError
from kombu.serialization import loads, prepare_accept_content

from schemas.chains import CHAINS, STAGES
from schemas.settings.base import ENV_FILE, merged
from schemas.settings.process import ProcessSettings
from stack.connections import Connections, connections
from stack.home import this_environment
from stages.models import server_name
from store.database import Database, LoopThread
from store.runs import workers
from workers import documents, participants, queries, tags, telemetry
from workers.batcher import waiting
from workers.batches import BatchSender
from workers.broker import FIRST, priority_of
from workers.dispatcher import Dispatcher, Reaper
from workers.leases import Leases, essential
from workers.notifier import Notifier
from workers.runner import Outcome, StageRunner
from workers.wiring import Wiring
from workers.work import StageFunction

log = structlog.get_logger(__name__)

#: The file of each chain, and the first word of the names of its functions.
_FILES: Final[dict[tuple[str, str], tuple[ModuleType, str]]] = {
    ("participant", "few_shot"): (participants, "run"),
    ("participant", "zero_shot"): (participants, "run"),
    ("query", "answer"): (queries, "run"),
    ("tags", "candidates"): (tags, "run"),
    ("index", "references"): (participants, "index"),
    ("index", "chunk_scores"): (participants, "chunk"),
    ("index", "corpus"): (documents, "corpus"),
    ("index", "tags"): (tags, "index"),
    ("work", "document"): (documents, "run"),
    ("evaluation", "answers"): (queries, "evaluate"),
}


FUNCTIONS: Final[dict[tuple[str, str, str], StageFunction]] = {
    (*chain, stage.name): getattr(file, f"{verb}_{stage.name}")
    for chain, (file, verb) in _FILES.items()
    for stage in CHAINS[chain]
}
"""What workers run. Modules that a worker includes may replace functions, and add those of other chains."""


_lock = threading.Lock()
_current: "tuple[int, WorkerProcess] | None" = None


class WorkerProcess:
    """This process, ready to run stages."""

    def __init__(self, app: Celery, settings: ProcessSettings, servers: Connections, *, concurrency: int) -> None:
        self.worker_id = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:6]}"
        self.stop_s = settings.ragq_stop_seconds
        self.loop = LoopThread("ragq")
        lease_s, hung_s = settings.ragq_lease_seconds, settings.ragq_hung_seconds
        self._leases = Leases(servers.database_url, self.worker_id, lease_s=lease_s, hung_s=hung_s)
        try:
            self._stop_tracing = telemetry.start(os.environ)
            self.loop.submit(self._leases.pulse())
            self.loop.run(self._build(app, settings, servers, concurrency))
        except BaseException:
            self._leases.stop()
            self.loop.stop()
            raise

    def give_back(self) -> None:
        """Give back every stage that is held, and claim no more."""
        self.loop.loop.call_soon_threadsafe(self.runner.stop)

    def stop(self) -> None:
        """Close connections and end the threads. Leases that are still held run out."""
        self.loop.run(self._close())
        self._stop_tracing()
        self._leases.stop()
        self.loop.stop()

    async def _build(self, app: Celery, settings: ProcessSettings, servers: Connections, concurrency: int) -> None:
        self._database = Database(
            servers.database_url, pool_size=settings.ragq_database_pool, pooler_url=settings.ragq_database_pooler_url
        )
        cluster = server_name(servers.redis_url)
        await self._database.ask(
            workers.enroll,
            self.worker_id,
            host=socket.gethostname(),
            pid=os.getpid(),
            stages=sorted(queue.name for queue in app.amqp.queues.consume_from.values()),
            environment=this_environment(),
            servers=_servers(settings, servers),
            concurrency=concurrency,
            broker=cluster,
        )
        self._wiring = Wiring(
            settings,
            self._database,
            ollama_url=servers.ollama_url,
            broker_url=servers.redis_url,
            is_crowded=lambda: self._leases.count > 1,
            # Less lies between two stages of a job that somebody waits for, also where another worker runs one of them.
            is_awaited=lambda: FIRST in map(priority_of, self._leases.kinds(within_s=0.2)),
        )
        self.runner = StageRunner(
            self._database, self._leases, self._wiring, FUNCTIONS, settings, worker_id=self.worker_id
        )
        on_loop = asyncio.get_running_loop()
        self._leases.on_cancelled = lambda attempts: on_loop.call_soon_threadsafe(self.runner.cancel, attempts)
        reaper = Reaper(
            self._database,
            lease_s=settings.ragq_lease_seconds,
            grace_s=settings.ragq_republish_seconds,
            max_interruptions=settings.ragq_max_interruptions,
        )
        self._dispatcher = Dispatcher(
            app, self._database, reaper, cluster=cluster, every_s=settings.ragq_reaper_seconds
        )
        beside = {"dispatcher": self._dispatcher.run(), "notifier": Notifier(self._database, settings).run()}
        if settings.openai_server is not None:
            sender = BatchSender(self._database, settings.openai_server, look_s=settings.ragq_llm_batch_seconds)
            beside["batches"] = sender.run()
        self._beside = [on_loop.create_task(work, name=name) for name, work in beside.items()]
        for task in self._beside:
            essential(task, task.get_name())
        log.info("worker_enrolled", worker=self.worker_id)

    async def _close(self) -> None:
        for task in self._beside:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self._dispatcher.close()
        await self._wiring.close()
        await self._database.close()


def _servers(settings: ProcessSettings, servers: Connections) -> dict[str, str | None]:
    openai, embeddings = settings.openai_server, settings.openai_embedding_server
    urls = {
        "OLLAMA_HOST": servers.ollama_url,
        "RAGQ_OPENAI_BASE_URL": openai and openai.base_url,
        "RAGQ_OPENAI_EMBEDDING_BASE_URL": embeddings and embeddings.base_url,
    }
    return {name: url and server_name(url) for name, url in urls.items()}


def current(app: Celery, *, concurrency: int = 0) -> WorkerProcess:
    """The process that this code runs in; built at the first call. `concurrency` is how many stages it runs at a time;
    0 in a forked child, which its parent counts."""
    global _current
    with _lock:
        if _current is None or _current[0] != os.getpid():
            settings = ProcessSettings.from_environment(os.environ, ENV_FILE)
            servers = connections(merged(os.environ, ENV_FILE))
            _current = (os.getpid(), WorkerProcess(app, settings, servers, concurrency=concurrency))
        return _current[1]


def give_back_later(**_: Any) -> None:
    """Give back what is held still after RAGQ_STOP_SECONDS. For a handler of a signal: takes no lock."""
    if _current is not None:
        timer = threading.Timer(_current[1].stop_s, _give_back)
        timer.daemon = True
        timer.start()


def _give_back() -> None:
    with _lock:
        if _current is not None and _current[0] == os.getpid():
            log.warning("stages_given_back_at_stop")
            _current[1].give_back()


def stop(**_: Any) -> None:
    """End what this process built, if it built anything."""
    global _current
    with _lock:
        if _current is not None and _current[0] == os.getpid():
            _current[1].stop()
        _current = None


#: The stage of the task that this thread is finishing, when it ran before its task.
_ran: ContextVar["asyncio.Task[Outcome] | None"] = ContextVar("ran", default=None)


class StageTask(Task[Any, None]):
    """A task whose messages take the short way: every option of theirs is known, so that nothing is looked up."""

    def apply_async(  # type: ignore[override]  # it takes the options of chains alone, and has no result to return
        self,
        args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        task_id: str = "",
        producer: Any = None,
        *,
        queue: str,
        root_id: str | None = None,
        parent_id: str | None = None,
        chain: Sequence[Any] | None = None,
        **options: Any,
    ) -> None:
        """Send the message of a stage, with those of the stages after it. What a stage returned is not passed on."""
        amqp = self.app.amqp
        message = amqp.as_task_v2(
            task_id,
            self.name,
            (),
            kwargs,
            root_id=root_id,
            parent_id=parent_id,
            chain=chain,
            ignore_result=True,
            argsrepr="()",
            kwargsrepr=repr(kwargs),
        )
        with self.app.producer_or_acquire(producer) as sending:
            # A list of Redis needs no declaration, and to look whether a queue is declared costs as much as to send.
            is_redis = sending.connection.transport.driver_type == "redis"
            amqp.send_task_message(
                sending, self.name, message, queue=queue, declare=() if is_redis else None, **options
            )


def run_stage(task: Any, stage: str, job_id: int) -> None:
    """Run one stage of one job in this process, unless it ran already. Raises what the stage raised, and Ignore when
    this copy of the message ends here, which also ends its chain."""
    ran = _ran.get()
    if ran is None:
        here = current(app_or_default(task.app))
        outcome = here.loop.run(here.runner.run(stage, job_id, is_redelivered=is_redelivered(task.request)))
    else:
        outcome = ran.result()
    if outcome is Outcome.NOTHING_TO_DO:
        raise Ignore


def is_redelivered(request: Mapping[str, Any]) -> bool:
    """Whether the broker delivers the message of a request for the second time."""
    return bool((request.get("delivery_info") or {}).get("redelivered"))


_STAGE_OF_TASK: Final = {f"ragq.{stage}": stage for stage in STAGES}
_ACCEPTED: Final = prepare_accept_content(["json"])


class StagePool(TaskPool):
    """Runs stages on the loop of the process, and no thread waits for them; anything else on threads.

    Celery's thread takes a message and hands the stage to the loop. When the stage has ended, the same thread does what
    Celery does at the end of a task: it sends the next message of the chain, acknowledges, and informs monitors. So a
    stage changes threads twice, where a pool of threads would change them five times. As many stages run at a time as
    messages are held, which the prefetch count limits.

    Celery measures a task around its function, which here only looks at how the stage ended. So monitors get the time
    of the stage itself, without what it waited in a queue of its process.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._hub: Any = None
        self._running = 0
        self._ended: SimpleQueue[Callable[[], None]] = SimpleQueue()
        """What ends the task of each stage that has ended, on Celery's thread."""

    def register_with_event_loop(self, loop: Any) -> None:
        """After each connection to the broker; what ended while there was none is finished then."""
        self._hub = loop
        loop.call_soon(self._finish_all)

    def on_apply(
        self,
        target: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        callback: Callable[..., Any] | None = None,
        accept_callback: Callable[..., Any] | None = None,
        **options: Any,
    ) -> Any:
        """Start the stage of a message. A broker without an event loop, and a message of no stage, get a thread."""
        assert args is not None
        task, uuid, request, body, content_type, content_encoding = args
        stage = _STAGE_OF_TASK.get(task)
        if stage is None or self._hub is None or (decoded := _decoded(body, content_type, content_encoding)) is None:
            return super().on_apply(target, args, kwargs, callback, accept_callback, **options)
        if accept_callback is not None:
            accept_callback(os.getpid(), time.monotonic())
        here = current(self.app)

        def finish(seconds: float) -> None:
            """Celery's end of a task, with the seconds of its stage."""

            def timed(result: Any) -> None:
                assert callback is not None
                # Whether it failed, what it returned or raised, and Celery's seconds; of a worker that ends, no tuple.
                callback((*result[:2], seconds) if isinstance(result, tuple) else result)

            apply_target(target, (task, uuid, request, decoded, None, None), kwargs, timed)

        stage_run = here.runner.run(stage, decoded[1]["job"], is_redelivered=is_redelivered(request))
        self._running += 1
        here.loop.loop.call_soon_threadsafe(self._start, here.loop.loop, stage_run, finish)
        return None

    def on_stop(self) -> None:
        """Wait for the stages that run, and finish each."""
        while self._running:
            self._ended.get()()
        super().on_stop()

    def _start(self, loop: asyncio.AbstractEventLoop, stage_run: Any, finish: Callable[[float], None]) -> None:
        """On the loop."""
        started = time.monotonic()
        in_queues: list[float] = []

        async def run() -> Outcome:
            nonlocal in_queues
            with waiting() as in_queues:
                outcome: Outcome = await stage_run
            return outcome

        def ended(work: "asyncio.Task[Outcome]") -> None:
            self._ended.put(partial(self._finish, work, finish, time.monotonic() - started - sum(in_queues)))
            self._hub.call_soon(self._finish_all)

        loop.create_task(run()).add_done_callback(ended)

    def _finish_all(self) -> None:
        """On Celery's thread, like on_apply and on_stop."""
        try:
            while True:
                self._ended.get_nowait()()
        except Empty:
            return

    def _finish(self, work: "asyncio.Task[Outcome]", finish: Callable[[float], None], seconds: float) -> None:
        self._running -= 1
        token = _ran.set(work)
        try:
            finish(seconds)
        finally:
            _ran.reset(token)


def _decoded(body: Any, content_type: str, content_encoding: str) -> Any:
    """The arguments of a message for a stage; None when it is none, which Celery itself then finds."""
    try:
        decoded = loads(body, content_type, content_encoding, accept=_ACCEPTED)
        return decoded if isinstance(decoded[1]["job"], int) else None
    except (ContentDisallowed, DecodeError, LookupError, TypeError):
        return None
