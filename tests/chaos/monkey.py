"""A chaos monkey: breaks an installation in every way it has, in an order that depends on a seed."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import asyncpg
import psutil
import redis

from tests.acceptance.fault_tolerance.breakable import SHORT_TIMES, BreakableInstallation, Servers, Supervisor
from tests.embedded import Started

#: Sets the clock of a process; a worker by worker where Debian's libfaketime is installed.
FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
LONGER_THAN_A_LEASE_S = 1.5 * float(SHORT_TIMES["RAGQ_LEASE_SECONDS"])


class Fault(NamedTuple):
    """A fault that is over."""

    name: str
    ended: float
    """Seconds since the epoch, as on the database's clock, which is this machine's."""


class Monkey:
    """Faults of workers and servers. `done` lists the faults so far, in order."""

    def __init__(self, installation: BreakableInstallation, servers: Servers, workers: Supervisor, seed: int) -> None:
        self._installation = installation
        self._servers = servers
        self._workers = workers
        self._random = random.Random(seed)
        self.done: list[Fault] = []
        # Some are more usual than others.
        self._faults: list[Callable[[], None]] = [
            *([self.set_the_clock_of_a_worker] if FAKETIME is not None else []),
            *(self.kill_a_worker, self.kill_a_worker, self.freeze_a_worker, self.stop_a_worker),
            *(self.restart_the_broker, self.stop_the_broker, self.freeze_the_broker),
            *(self.fill_the_broker, self.empty_the_broker),
            *(self.restart_the_database, self.freeze_the_database, self.make_the_database_read_only),
            *(self.take_every_connection, self.end_every_session, self.end_every_session),
        ]

    def act(self) -> None:
        """Break one thing, and repair it where nothing else does."""
        fault = self._random.choice(self._faults)
        fault()
        self.done.append(Fault(fault.__name__, time.time()))
        time.sleep(self._random.uniform(0.2, 1.0))

    def kill_a_worker(self) -> None:
        """SIGKILL; the supervisor starts another."""
        self._random.choice(self._workers.workers).kill()

    def freeze_a_worker(self) -> None:
        """SIGSTOP until its leases are lost, then SIGCONT."""
        worker = self._random.choice(self._workers.workers)
        worker.freeze()
        time.sleep(LONGER_THAN_A_LEASE_S)
        worker.thaw()

    def stop_a_worker(self) -> None:
        """SIGTERM, with which it gives its stages back; the supervisor starts another."""
        with suppress(ProcessLookupError):
            os.kill(self._random.choice(self._workers.workers).pid, signal.SIGTERM)

    def set_the_clock_of_a_worker(self) -> None:
        """SIGKILL; the next one has a clock that is hours ahead, hours behind, or right."""
        wrong = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        clocks = [{}, {**wrong, "FAKETIME": "+6h"}, {**wrong, "FAKETIME": "-6h"}]
        self._workers.environment = self._random.choice(clocks)
        self.kill_a_worker()

    def restart_the_broker(self) -> None:
        """SIGKILL; messages that it had not stored are lost."""
        self._restart(self._servers.valkey, after_s=self._random.uniform(0.0, 0.5))

    def stop_the_broker(self) -> None:
        """SIGKILL, and nobody listens for longer than a lease."""
        self._restart(self._servers.valkey, after_s=LONGER_THAN_A_LEASE_S)

    def freeze_the_broker(self) -> None:
        """SIGSTOP: it accepts connections and answers nothing."""
        self._freeze(self._servers.valkey.pid)

    def fill_the_broker(self) -> None:
        """It is out of memory: it refuses every new message."""
        with redis.Redis.from_url(self._servers.valkey.url) as client:
            client.config_set("maxmemory", "1")
            time.sleep(LONGER_THAN_A_LEASE_S)
            client.config_set("maxmemory", "0")

    def empty_the_broker(self) -> None:
        self._servers.empty_broker()

    def restart_the_database(self) -> None:
        """SIGKILL, and a recovery."""
        self._restart(self._servers.postgres, after_s=self._random.uniform(0.0, 0.5))

    def freeze_the_database(self) -> None:
        """SIGSTOP of every process of it."""
        server = psutil.Process(self._servers.postgres.pid)
        self._freeze(server.pid, *(child.pid for child in server.children()))

    def make_the_database_read_only(self) -> None:
        """As after a failover to a standby."""
        name = self._installation.database
        self._servers.administer(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        self._installation.terminate_sessions()
        time.sleep(LONGER_THAN_A_LEASE_S)
        self._servers.administer(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
        self._installation.terminate_sessions()

    def take_every_connection(self) -> None:
        """Others hold all sessions that the server allows, once the workers have lost theirs."""
        asyncio.run(self._take_every_connection())

    async def _take_every_connection(self) -> None:
        taken: list[asyncpg.Connection] = []
        url = self._servers.database_url("postgres")
        ends = time.monotonic() + 2 * LONGER_THAN_A_LEASE_S
        await asyncio.to_thread(self._installation.terminate_sessions)
        try:
            while time.monotonic() < ends:
                try:
                    taken.append(await asyncpg.connect(url))
                except asyncpg.TooManyConnectionsError:
                    await asyncio.sleep(0.05)
        finally:
            await asyncio.gather(*(connection.close() for connection in taken))

    def end_every_session(self) -> None:
        self._installation.terminate_sessions()

    def _restart(self, server: Started, *, after_s: float) -> None:
        server.kill()
        time.sleep(after_s)
        server.start()

    def _freeze(self, *pids: int) -> None:
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(LONGER_THAN_A_LEASE_S if number == signal.SIGSTOP else 0)
