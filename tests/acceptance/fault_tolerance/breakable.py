"""An installation whose workers are supervised and whose servers can be broken."""

import asyncio
import itertools
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import redis

from schemas.chains import QUEUES
from stack.parts import worker_command
from store.database import Database
from store.runs import jobs
from store.runs.jobs import PendingChain
from tests.acceptance.harness import Installation, StartedProcess
from tests.conftest import url_of
from tests.embedded import PostgresServer, ValkeyServer
from tests.scripted_ollama import ScriptedModel, ScriptedOllama
from tests.store.statements import execute
from workers.app import make_app
from workers.turns import send

SHORT_TIMES = {
    "RAGQ_LEASE_SECONDS": "1.2",
    "RAGQ_REAPER_SECONDS": "0.2",
    "RAGQ_REPUBLISH_SECONDS": "0.7",
    # A machine that is slow for a moment must not end a test that kills workers on purpose.
    "RAGQ_MAX_INTERRUPTIONS": "20",
}

#: Options of runs that ask no model about references.
UNCHECKED = ("--set", "EMBEDDING_ENABLE_REFERENCE_VALIDATION=false")

OUTCOMES = """
SELECT j.ordinal, a.stage, a.outcome FROM stage_attempt AS a JOIN job AS j ON j.id = a.job_id
WHERE j.run_id = $1 ORDER BY a.id
"""

#: Terminates the sessions of ragq's processes on the database.
TERMINATE = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'ragq%'
"""


@dataclass(frozen=True)
class Servers:
    """Postgres and the broker, which are restarted on the same port after a kill."""

    postgres: PostgresServer
    valkey: ValkeyServer

    def database_url(self, name: str) -> str:
        return url_of(self.postgres, name)

    def administer(self, statement: str) -> None:
        asyncio.run(execute(self.database_url("postgres"), statement))

    def empty_broker(self) -> None:
        with redis.Redis.from_url(self.valkey.url) as client:
            client.flushall()


def embedded_by(embedder: ScriptedModel) -> dict[str, str]:
    """The settings with which a model of the test embeds everything."""
    return {
        "EMBEDDING_BACKEND": "ollama",
        "EMBEDDING_DIMENSION": "8",
        "EMBEDDING_EMBEDDINGS_FILE": "scripted",
        "MODEL_EMBEDDING_MODEL": embedder.name,
    }


@dataclass
class BreakableInstallation(Installation):
    """ragq on servers that a test may break."""

    @classmethod
    def on(
        cls, servers: Servers, database: str, *, ollama: ScriptedOllama, embedder: ScriptedModel, folder: Path
    ) -> Self:
        """An installation on one database, with short times and an embedder that no worker has to load."""
        settings = SHORT_TIMES | embedded_by(embedder)
        return cls(servers.database_url(database), servers.valkey.url, ollama.port, folder, settings)

    @contextmanager
    def supervised(self, *, workers: int = 2, **environment: str) -> Iterator["Supervisor"]:
        """Keep this number of workers running until the end of the block."""
        supervisor = Supervisor(self, workers, environment)
        try:
            yield supervisor
        finally:
            supervisor.end()

    def attempts(self, run_id: int) -> dict[tuple[int, str], list[str]]:
        """The outcomes of every attempt, oldest first, by the job's position in its run and the stage."""
        found: dict[tuple[int, str], list[str]] = {}
        for row in self.rows(OUTCOMES, run_id):
            found.setdefault((row["ordinal"], row["stage"]), []).append(row["outcome"])
        return found

    def send_again(self, run_id: int, *, times: int) -> None:
        """Send the chains of a run again, this many times."""
        app = make_app(self.redis_url)

        async def chains() -> list[PendingChain]:
            database = Database(self.database_url, pool_size=1)
            async with database.connection() as connection:
                job_ids = [row["id"] for row in await connection.fetch("SELECT id FROM job WHERE run_id = $1", run_id)]
                found = await jobs.pending_chains(connection, job_ids)
            await database.close()
            return found

        due = asyncio.run(chains())
        assert send(app, due * times) == len(due) * times
        app.close()

    def terminate_sessions(self) -> int:
        ended: int = self.value(TERMINATE)
        return ended

    def assert_recovered(self, run_id: int, jobs: int) -> dict[tuple[int, str], list[str]]:
        """Every job succeeded, every stage has exactly one output, and every attempt is as it was stored."""
        assert self.wait_for(run_id) == {"succeeded": jobs}
        attempts = self.attempts(run_id)
        unique = {stage: Counter(outcomes)["succeeded"] for stage, outcomes in attempts.items()}
        assert unique == dict.fromkeys(attempts, 1)
        assert {outcome for outcomes in attempts.values() for outcome in outcomes} <= {"succeeded", "interrupted"}
        audit = self.ragq("audit", f"r{run_id}")
        assert audit.exit_code == 0, audit.stdout + audit.stderr
        return attempts


class Supervisor:
    """Workers that are started again as soon as they are gone."""

    def __init__(self, installation: BreakableInstallation, workers: int, environment: dict[str, str]) -> None:
        self._installation = installation
        self.environment = environment
        """Of workers that are started from now on."""
        self._numbers = itertools.count(1)
        self._ended = threading.Event()
        self.deaths = 0
        """Workers that ended before the test stopped them."""
        self.workers = [self._start() for _ in range(workers)]
        self._thread = threading.Thread(target=self._watch, name="supervisor")
        self._thread.start()

    def end(self) -> None:
        """Start no more workers, and kill the running ones."""
        self._ended.set()
        self._thread.join()
        for worker in self.workers:
            worker.kill()

    def _watch(self) -> None:
        while not self._ended.wait(0.05):
            for place, worker in enumerate(self.workers):
                if not worker.is_alive:
                    self.deaths += 1
                    self.workers[place] = self._start()

    def _start(self) -> StartedProcess:
        command = worker_command(f"supervised{next(self._numbers)}", QUEUES, 8)
        return self._installation.start(*command[2:], **self.environment)
