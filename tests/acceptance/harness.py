"""ragq as its users have it: the real command line, real worker processes, tables to read. Nothing is faked here."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import asyncpg

from stack.endings import kill_tree
from workers.pipelines import STAGES

START_TIMEOUT_S = 90.0
COMMAND_TIMEOUT_S = 120.0

_RAGQ = Path(sys.executable).with_name("ragq")
_OUTSIDE = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
_REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """What it printed, parsed."""
        return json.loads(self.stdout)


@dataclass(frozen=True)
class StartedProcess:
    """A process in a session of its own, and everything it printed."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        """Of the process itself; its children have others."""
        return self.process.pid

    @property
    def said(self) -> str:
        """Everything it printed so far."""
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        """SIGKILL, children included."""
        kill_tree(self.pid)
        self.process.wait()

    def stop(self) -> None:
        """SIGTERM and wait: a worker ends its tasks first."""
        self.process.terminate()
        self.process.wait(60)

    def freeze(self) -> None:
        """SIGSTOP: it does nothing any more and knows nothing of it."""
        os.killpg(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        os.killpg(self.pid, signal.SIGCONT)


@dataclass
class Installation:
    """ragq on given servers. Leaving its block kills every process it started."""

    database_url: str
    redis_url: str
    ollama_port: int
    folder: Path
    """Logs, and the working directory of every process."""
    settings: dict[str, str] = field(default_factory=dict)
    """Further environment of every process."""
    _started: list[StartedProcess] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """What every process gets; nothing of ragq's own leaks in from outside."""
        return {
            **{name: os.environ[name] for name in _OUTSIDE if name in os.environ},
            "PYTHONPATH": str(_REPOSITORY),
            "RAGQ_HOME": str(self.folder / "no-stack-here"),
            "RAGQ_PROFILE": "demo",
            "RAGQ_TORCH_THREADS": "1",
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "OLLAMA_HOST": "127.0.0.1",
            "OLLAMA_PORT": str(self.ollama_port),
            **self.settings,
        }

    def ragq(self, *arguments: str, **environment: str) -> Finished:
        """Run `ragq ARGUMENTS` to its end, whatever that is."""
        done = subprocess.run(
            [_RAGQ, *arguments],
            cwd=self.folder,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def submit(self, *arguments: str, **environment: str) -> int:
        """Submit and do not wait. The run's number."""
        done = self.ragq("submit", "--json", *arguments, **environment)
        assert done.exit_code == 0, done.stderr
        run_id: int = done.json["run_id"]
        return run_id

    def watch(self, run_id: int) -> dict[str, Any]:
        """Wait until a run comes to rest. What `ragq watch --json` says of it."""
        view: dict[str, Any] = self.ragq("watch", f"r{run_id}", "--json").json
        return view

    def start_worker(
        self,
        *,
        stages: Sequence[str] = STAGES,
        pool: str = "threads",
        concurrency: int = 8,
        **environment: str,
    ) -> StartedProcess:
        """A worker process that is ready for messages."""
        name = f"worker{len(self._started)}"
        worker = self.start(
            *("celery", "-A", "workers.main", "worker", f"--hostname={name}@%h", f"--queues={','.join(stages)}"),
            *(f"--pool={pool}", f"--concurrency={concurrency}", "--loglevel=WARNING"),
            *("--without-gossip", "--without-mingle"),
            **environment,
        )
        self.wait_until("SELECT EXISTS (SELECT FROM worker WHERE pid = $1)", worker.pid, alive=worker)
        return worker

    def start(self, module: str, *arguments: str, **environment: str) -> StartedProcess:
        """Run `python -m MODULE ARGUMENTS` until the installation is left."""
        log = self.folder / f"{module}{len(self._started)}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=self.folder,
                env=self.environment | environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        started = StartedProcess(process, log)
        self._started.append(started)
        return started

    def rows(self, query: str, *arguments: Any) -> list[dict[str, Any]]:
        """The rows of a query; JSON comes parsed."""

        async def fetch() -> list[dict[str, Any]]:
            connection = await asyncpg.connect(self.database_url)
            try:
                await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
                return [dict(row) for row in await connection.fetch(query, *arguments)]
            finally:
                await connection.close()

        return asyncio.run(fetch())

    def value(self, query: str, *arguments: Any) -> Any:
        """The only value of a query of one row."""
        (row,) = self.rows(query, *arguments)
        (found,) = row.values()
        return found

    def wait_until(self, query: str, *arguments: Any, alive: StartedProcess | None = None) -> None:
        """Wait until a query of one value gives true; `alive` must not end meanwhile."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self.value(query, *arguments):
            assert alive is None or alive.process.poll() is None, alive.said if alive else ""
            assert time.monotonic() < deadline, f"Still not so: {query} {arguments}"
            time.sleep(0.05)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for started in self._started:
            started.kill()
