"""ragq as users run it: the real command line, real worker processes, tables to read. Nothing is faked here."""

import asyncio
import itertools
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import asyncpg

from schemas.chains import STAGES, queues_named
from stack.supervision import kill_tree
from store.runs.jobs import OPEN_JOBS
from tests.acceptance.forked import Forked, Output

START_TIMEOUT_S = 300.0
COMMAND_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0

BROKEN = "tests.acceptance.broken_stages"
"""What a worker includes whose stages break as TEST_BREAKS says."""

_OUTSIDE = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
_REPOSITORY = Path(__file__).parents[2]


def setting(*assignments: str) -> tuple[str, ...]:
    """The options that set values."""
    return tuple(word for assignment in assignments for word in ("--set", assignment))


def judged_by(model: str) -> tuple[str, ...]:
    """The options of a few-shot submission whose references a model judges."""
    return ("--few-shot-only", *setting(f"MODEL_JUDGE_MODEL={model}"))


def extracted_by(model: str) -> tuple[str, ...]:
    """The options of a submission whose evidence a model finds; it scores too."""
    return setting("QUANTITATIVE_EVIDENCE_EXTRACTOR=llm", f"MODEL_QUANTITATIVE_MODEL={model}")


@dataclass(frozen=True)
class Finished:
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

    process: Forked
    log: Path

    @property
    def pid(self) -> int:
        """The id of the process itself, without its children."""
        return self.process.pid

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    @property
    def is_alive(self) -> bool:
        return self.process.is_alive

    def kill(self) -> None:
        """SIGKILL, children included."""
        kill_tree(self.pid)
        self.process.join()

    def stop(self) -> None:
        """SIGTERM and wait: a worker ends its tasks first."""
        self.process.signal(signal.SIGTERM)
        self.process.join(STOP_TIMEOUT_S)
        assert not self.is_alive, self.output

    def freeze(self) -> None:
        """SIGSTOP: suspend the process without notice to it."""
        os.killpg(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT: resume a frozen process."""
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
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def database(self) -> str:
        return self.database_url.rpartition("/")[2]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of every process, without the variables of ragq from outside."""
        return {
            **{name: os.environ[name] for name in _OUTSIDE if name in os.environ},
            "PYTHONPATH": str(_REPOSITORY),
            "RAGQ_HOME": str(self.folder / "no-stack-here"),
            "RAGQ_PROFILE": "demo",
            # What the profile leaves out to be quick is tested too: overlapping chunks, several verdicts of an item,
            # whole transcripts, and quotes as the paper profile chooses them.
            "EMBEDDING_CHUNK_STEP": "2",
            "EMBEDDING_VALIDATION_MAX_REFS_PER_ITEM": "2",
            "QUANTITATIVE_SIMILARITY_MAX_QUOTES": "3",
            "QUANTITATIVE_SIMILARITY_THRESHOLD": "0.7",
            "RAGQ_SCORE_INPUT": "transcript",
            "RAGQ_TORCH_THREADS": "1",
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "OLLAMA_HOST": "127.0.0.1",
            "OLLAMA_PORT": str(self.ollama_port),
            **self.settings,
        }

    def ragq(self, *arguments: str, **environment: str) -> Finished:
        """Run `ragq ARGUMENTS` to its end. Submissions stop before scoring unless `--until` is given."""
        if arguments[:1] == ("submit",) and "--until" not in arguments:
            arguments = (*arguments, "--until", "assemble")
        place = self.folder / f"ragq{next(self._numbers)}"
        output = Output(place.with_suffix(".stdout"), place.with_suffix(".stderr"))
        command = Forked(
            "ragq", *arguments, environment=self.environment | environment, folder=self.folder, output=output
        )
        command.join(COMMAND_TIMEOUT_S)
        command.signal(signal.SIGKILL)
        assert command.exit_code is not None, f"ragq {' '.join(arguments)} did not end."
        return Finished(command.exit_code, *(one.read_bytes().decode() for one in output))

    def do(self, *arguments: str, **environment: str) -> Finished:
        """Run a command that has to succeed."""
        done = self.ragq(*arguments, **environment)
        assert done.exit_code == 0, f"ragq {' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done

    def learn(self, folder: Path) -> None:
        """Import participants, and have a worker build the index of the paper's split for training."""
        self.do("import", "participants", str(folder))
        self.do("index", "references", "--split", "paper-train", "--wait")

    def submit(self, *arguments: str, **environment: str) -> int:
        """Submit and do not wait. The run's number."""
        run_id: int = self.do("submit", "--json", *arguments, **environment).json["run_id"]
        return run_id

    def wait_for(self, run_id: int) -> dict[str, int]:
        """Wait until a run finishes. Returns the number of jobs in each state."""
        self.wait_until(f"SELECT count(*) = 0 FROM job WHERE run_id = $1 AND status IN {OPEN_JOBS}", run_id)
        states = self.rows("SELECT status, count(*) AS jobs FROM job WHERE run_id = $1 GROUP BY status", run_id)
        return {row["status"]: row["jobs"] for row in states}

    def inspect(self, run_id: int, stage: str, *, ordinal: int = 0) -> list[dict[str, Any]]:
        """The attempts of a stage as `ragq inspect` shows them, of the run's job at a position."""
        job_id = self.value("SELECT id FROM job WHERE run_id = $1 AND ordinal = $2", run_id, ordinal)
        attempts: list[dict[str, Any]] = self.ragq("inspect", f"j{job_id}", stage, "--json").json["attempts"]
        return attempts

    @property
    def logs(self) -> str:
        """Everything that every process of this installation printed."""
        return "".join(started.output for started in self._started)

    def start_worker(
        self,
        *,
        stages: Sequence[str] = STAGES,
        include: str = "",
        pool: str | None = None,
        concurrency: int = 8,
        **environment: str,
    ) -> StartedProcess:
        """A worker process that is ready for messages, with ragq's pool or another of Celery's.

        The module `include` is imported after its stages.
        """
        name = f"worker{len(self._started)}"
        worker = self.start(
            *("celery", "-A", "workers.main", "worker", f"--hostname={name}@%h"),
            f"--queues={','.join(queues_named(stages))}",
            *(*([f"--pool={pool}"] if pool else []), f"--concurrency={concurrency}", "--loglevel=WARNING"),
            *("--without-gossip", "--without-mingle", *([f"--include={include}"] if include else [])),
            **environment,
        )
        self.wait_until("SELECT EXISTS (SELECT FROM worker WHERE pid = $1)", worker.pid, alive=worker)
        return worker

    def start(self, program: str, *arguments: str, **environment: str) -> StartedProcess:
        """Run `python -m PROGRAM ARGUMENTS` until the installation is left."""
        log = self.folder / f"{program}{next(self._numbers)}.log"
        process = Forked(
            program, *arguments, environment=self.environment | environment, folder=self.folder, output=Output(log, log)
        )
        started = StartedProcess(process, log)
        self._started.append(started)
        return started

    def rows(self, query: str, *arguments: Any) -> list[dict[str, Any]]:
        """The rows of a query; JSON comes parsed."""

        async def fetch() -> list[dict[str, Any]]:
            async with self._connected() as connection:
                return [dict(row) for row in await connection.fetch(query, *arguments)]

        return asyncio.run(fetch())

    def change(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement with the arguments of each row."""

        async def execute() -> None:
            async with self._connected() as connection:
                await connection.executemany(statement, rows)

        asyncio.run(execute())

    def value(self, query: str, *arguments: Any) -> Any:
        """The only value of a query of one row."""
        (row,) = self.rows(query, *arguments)
        (found,) = row.values()
        return found

    def wait_until(self, query: str, *arguments: Any, alive: StartedProcess | None = None) -> None:
        """Wait until a query of one value is true; the process `alive` must not end meanwhile."""
        deadline = time.monotonic() + START_TIMEOUT_S

        async def wait() -> None:
            async with self._connected() as connection:
                while not await connection.fetchval(query, *arguments):
                    assert alive is None or alive.is_alive, alive.output if alive else ""
                    assert time.monotonic() < deadline, f"Still not so: {query} {arguments}"
                    await asyncio.sleep(0.05)

        asyncio.run(wait())

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[asyncpg.Connection]:
        connection = await asyncpg.connect(self.database_url)
        try:
            await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
            yield connection
        finally:
            await connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for started in self._started:
            started.kill()
