"""A monkey that breaks an installation in every way it knows, in an order that a seed decides."""

import random
import time

from tests.acceptance.fault_tolerance.breakable import SHORT_TIMES, BreakableInstallation, Servers, Supervisor

LONGER_THAN_A_LEASE_S = 1.5 * float(SHORT_TIMES["RAGQ_LEASE_SECONDS"])


class Monkey:
    """What can happen to workers and servers. `done` keeps what did, in order."""

    def __init__(self, installation: BreakableInstallation, servers: Servers, workers: Supervisor, seed: int) -> None:
        self._installation = installation
        self._servers = servers
        self._workers = workers
        self._random = random.Random(seed)
        self.done: list[str] = []

    def act(self) -> None:
        """Break one thing, and mend it where nobody else would."""
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
        """SIGSTOP until its leases are lost, and then let it go on with what it was doing."""
        worker = self._random.choice(self._workers.workers)
        worker.freeze()
        time.sleep(LONGER_THAN_A_LEASE_S)
        worker.thaw()

    def restart_the_broker(self) -> None:
        """SIGKILL; what it had not written down is gone."""
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
        """Break every connection to the database, in the middle of whatever it does."""
        self._installation.terminate_sessions()
