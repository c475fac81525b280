"""The watchdog of a worker process: a process beside it, which a blocked interpreter cannot stop.

The heartbeat is a thread, and a computation that keeps Python's global interpreter lock stops every thread. Then the
watchdog renews the leases, for RAGQ_HUNG_SECONDS at most. The event loop of the process sends it a pulse; when that
stops for good, the watchdog asks by a signal where the threads are, and faulthandler, which needs no interpreter,
answers. It reads the frames of threads without the lock, so that it could crash a process whose threads run.
"""

import asyncio
import faulthandler
import json
import os
import subprocess
import sys
from contextlib import suppress

import structlog

from workers.loop import LoopThread
from workers.watchdog_orders import ASK, FAREWELL, PULSE, Orders

log = structlog.get_logger(__name__)

_END_SECONDS = 5.0


class Watchdog:
    """The other process, and the pulse that it hears."""

    def __init__(self, loop: LoopThread, orders: Orders) -> None:
        self._orders = orders
        self._process = self._start()
        self._pulse = loop.submit(self._beat())

    def stop(self) -> None:
        """End it: this process ends in order."""
        self._pulse.cancel()
        faulthandler.unregister(ASK)
        with suppress(OSError):
            os.write(self._pipe, FAREWELL)
        self._forget()

    async def _beat(self) -> None:
        while True:
            try:
                os.write(self._pipe, PULSE)
            except BlockingIOError:
                log.warning("watchdog_does_not_read")
            except BrokenPipeError:
                log.warning("watchdog_ended")
                self._forget()
                self._process = await asyncio.to_thread(self._start)
            await asyncio.sleep(self._orders.heartbeat_s)

    @property
    def _pipe(self) -> int:
        assert self._process.stdin is not None
        return self._process.stdin.fileno()

    def _start(self) -> "subprocess.Popen[bytes]":
        # Its own session: Ctrl-C and a kill of the worker's group do not end it before it has seen to the leases.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "workers.watchdog_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
            cwd="/",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(self._orders._asdict()).encode() + b"\n")
        os.set_blocking(process.stdin.fileno(), False)
        faulthandler.register(ASK, file=process.stdin.fileno())
        return process

    def _forget(self) -> None:
        faulthandler.unregister(ASK)
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
