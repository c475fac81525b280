"""What one worker process keeps between tasks: a loop, a database pool, its leases, the dispatcher and the adapters.

Built on first use and keyed by process id, because a forked child must not share a parent's connections.
"""

import asyncio
import os
import socket
import threading
from contextlib import suppress
from uuid import uuid4

import structlog
from celery import Celery

from schemas.settings.layers import ENV_FILE, merged
from schemas.settings.process import ProcessSettings
from stack.connections import Connections, connections
from stack.environment import this_environment
from stages.models import server_name
from store.database import Database
from store.runs import workers
from workers import telemetry
from workers.dispatcher import Dispatcher
from workers.functions import FUNCTIONS
from workers.leases import Leases, LoopThread, essential
from workers.messages import FIRST, priority_of
from workers.reaper import Reaper
from workers.runner import StageRunner
from workers.wiring import Wiring

log = structlog.get_logger(__name__)

#: What lies at most between two stages of a job that somebody waits for, also where another worker runs one of them.
_BETWEEN_STAGES_S = 0.2

_lock = threading.Lock()
_current: "tuple[int, WorkerProcess] | None" = None


class WorkerProcess:
    """This process, ready to run stages."""

    def __init__(self, app: Celery, settings: ProcessSettings, servers: Connections, *, concurrency: int) -> None:
        self.worker_id = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:6]}"
        self.stop_s = settings.ragq_stop_seconds
        self.loop = LoopThread("ragq")
        self._leases = Leases(
            servers.database_url,
            self.worker_id,
            lease_s=settings.ragq_lease_seconds,
            heartbeat_s=settings.ragq_heartbeat_seconds,
            hung_s=settings.ragq_hung_seconds,
        )
        try:
            telemetry.start(os.environ)
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
        telemetry.stop()
        self._leases.stop()
        self.loop.stop()

    async def _build(self, app: Celery, settings: ProcessSettings, servers: Connections, concurrency: int) -> None:
        self._database = Database(
            servers.database_url,
            pool_size=settings.ragq_database_pool,
            pooler_url=settings.ragq_database_pooler_url,
        )
        cluster = server_name(servers.redis_url)
        await self._database.with_retry(
            lambda connection: workers.enroll(
                connection,
                self.worker_id,
                host=socket.gethostname(),
                pid=os.getpid(),
                stages=sorted(queue.name for queue in app.amqp.queues.consume_from.values()),
                environment=this_environment(),
                servers=_servers(settings, servers),
                concurrency=concurrency,
                broker=cluster,
            )
        )
        self._wiring = Wiring(
            settings,
            self._database,
            ollama_url=servers.ollama_url,
            broker_url=servers.redis_url,
            is_crowded=lambda: self._leases.count > 1,
            is_awaited=lambda: FIRST in map(priority_of, self._leases.kinds(_BETWEEN_STAGES_S)),
        )
        self.runner = StageRunner(
            self._database,
            self._leases,
            self._wiring,
            FUNCTIONS,
            worker_id=self.worker_id,
            lease_s=settings.ragq_lease_seconds,
            grace_s=settings.ragq_republish_seconds,
            max_interruptions=settings.ragq_max_interruptions,
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
        self._dispatching = asyncio.get_running_loop().create_task(self._dispatcher.run())
        essential(self._dispatching, "dispatcher")
        log.info("worker_enrolled", worker=self.worker_id)

    async def _close(self) -> None:
        self._dispatching.cancel()
        with suppress(asyncio.CancelledError):
            await self._dispatching
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
    """The process that this code runs in; built at the first call.

    `concurrency` is how many stages it runs at a time; 0 in a forked child, which its parent counts.
    """
    global _current
    with _lock:
        if _current is None or _current[0] != os.getpid():
            settings = ProcessSettings.from_environment(os.environ, ENV_FILE)
            servers = connections(merged(os.environ, ENV_FILE))
            _current = (os.getpid(), WorkerProcess(app, settings, servers, concurrency=concurrency))
        return _current[1]


def give_back_later() -> None:
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


def stop() -> None:
    """End what this process built, if it built anything."""
    global _current
    with _lock:
        if _current is not None and _current[0] == os.getpid():
            _current[1].stop()
        _current = None
