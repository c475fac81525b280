"""The application behind a real port, in a thread of this process."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from api.app import make_app
from api.context import ApiContext
from schemas.settings.process import ProcessSettings
from stack.ports import LOOPBACK
from store.database import Database
from tests.acceptance.harness import START_TIMEOUT_S, Installation
from workers.app import make_app as make_broker


@contextmanager
def live_server(installation: Installation, *, wait_s: float) -> Iterator[str]:
    """The URL of the application over the servers of an installation. Steps are waited for at most `wait_s` seconds."""
    ctx = ApiContext(
        # Shorter than any setting may be.
        settings=ProcessSettings().model_copy(update={"ragq_api_wait_seconds": wait_s}),
        database=Database(installation.database_url, pool_size=4),
        broker=make_broker(installation.redis_url),
        environment={"RAGQ_PROFILE": "demo"},
    )
    server = uvicorn.Server(uvicorn.Config(make_app(ctx), host=LOOPBACK, port=0, log_config=None))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not server.started:
            assert thread.is_alive() and time.monotonic() < deadline
            time.sleep(0.01)
        (port,) = {socket.getsockname()[1] for of in server.servers for socket in of.sockets}
        yield f"http://{LOOPBACK}:{port}"
    finally:
        server.should_exit = True
        thread.join()
