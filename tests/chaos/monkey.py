"""A chaos monkey: breaks an installation in every way it has, in an order that depends on a seed."""

import random
import time

from tests.acceptance.fault_tolerance.breakable import SHORT_TIMES, BreakableInstallation, Servers, Supervisor

LONGER_THAN_A_LEASE_S = 1.5 * float(SHORT_TIMES["RAGQ_LEASE_SECONDS"])


class Monkey:
    """Faults of workers and servers. `done` lists the faults so far, in order."""

    def __init__(self, installation: BreakableInstallation, servers: Servers, workers: Supervisor, seed: int) -> None:
        self._installation = installation
        self._servers = servers
        self._workers = workers
        self._random = random.Random(seed)
        self.done: list[str] = []

    def act(self) -> None:
        """Break one thing, and repair it where nothing else does."""
        act = self._random.choice(
            [
                self.kill_a_worker,
                self.kill_a_worker,
                self.freeze_a_worker,
                self.restart_the_broker,
                self.empty_the_broker,
                self.restart_the_database,
                self.end_every_session,
                self.end_every_session,
            ]
        )
        act()
        self.done.append(act.__name__)
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

    def restart_the_broker(self) -> None:
        """SIGKILL; messages that it had not stored are lost."""
        self._servers.valkey.kill()
        time.sleep(self._random.uniform(0.0, 0.5))
        self._servers.valkey.start()

    def empty_the_broker(self) -> None:
        """Lose every message."""
        self._servers.empty_broker()

    def restart_the_database(self) -> None:
        """SIGKILL, and a recovery."""
        self._servers.postgres.kill()
        time.sleep(self._random.uniform(0.0, 0.5))
        self._servers.postgres.start()

    def end_every_session(self) -> None:
        """Terminate every connection to the database."""
        self._installation.terminate_sessions()
