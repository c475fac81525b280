"""A connection to ragq's database and broker, and what can be asked of them."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from ragq.background import Background
from ragq.packages import shadowing
from ragq.runs import Run, number_of
from ragq.tables import Table, rows_of
from schemas.errors import Refused
from schemas.settings.layers import ENV_FILE, merged
from schemas.settings.resolve import resolve
from schemas.values.prices import Prices
from schemas.values.query_sets import QuerySet, SubmittedQuery
from schemas.values.retrieval_reports import RetrievalDifference
from services.comparisons import compare_runs
from services.failure_clusters import failures_of
from services.participants import ParticipantRequest
from services.questions.submission import QueryRequest
from services.run_files import CheckedFile, check_file
from services.submit import Request, submit
from services.tags import TagsRequest
from stack.connections import connections
from store.database import Connection, Database
from store.runs import overviews

__all__ = [
    "Lab",
    "ParticipantRequest",
    "Prices",
    "QueryRequest",
    "QuerySet",
    "Refused",
    "SubmittedQuery",
    "TagsRequest",
    "connect",
    "verify",
]

Result = TypeVar("Result")


def connect(*, database_url: str | None = None, redis_url: str | None = None) -> "Lab":
    """Connect to these servers; without them to those of the environment, the .env file, or the running stack.

    Raises Refused when there are none, and where Python imports other packages than ragq's.
    """
    if foreign := list(shadowing()):
        names = ", ".join(f"'{one.name}' from {one.place}" for one in foreign)
        raise Refused(f"Python imports {names}, which are not ragq's. Install ragq in an environment of its own.")
    given = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    return Lab({**os.environ, **{name: url for name, url in given.items() if url is not None}})


def verify(file: str | os.PathLike[str]) -> CheckedFile:
    """Check the file of an exported run, without a database."""
    return check_file(Path(file))


class Lab:
    """What a database of ragq has, and what can be submitted to it. Methods wait for their result."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        servers = connections(merged(environment, ENV_FILE))
        self._environment = dict(environment)
        self._background = Background()
        self._database = Database(servers.database_url, pool_size=2, application_name="ragq-python")

    def __enter__(self) -> "Lab":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._background.run(self._database.close())
        self._background.close()

    def runs(self, *, limit: int = 20, kind: str | None = None, search: str = "") -> Table:
        """The newest runs, newest first. Each word of `search` occurs in name, note, request or states."""
        found = self.read(lambda connection: overviews.overviews(connection, limit=limit, kind=kind, search=search))
        return Table(
            [
                {
                    "run": f"r{run.id}",
                    **{name: getattr(run, name) for name in ("name", "kind", "profile", "jobs")},
                    **{name: getattr(run, name) for name in ("states", "created_at", "finished_at", "note")},
                }
                for run in found
            ]
        )

    def run(self, run: int | str) -> Run:
        """A run by number or name. Raises Refused when there is none."""
        return Run(self, self._database, self.read(lambda connection: number_of(connection, run)))

    def submit(
        self,
        request: Request,
        *,
        profile: str | None = None,
        settings: Mapping[str, str] | None = None,
        always_new: bool = False,
    ) -> Run:
        """Submit participants, questions or phrases; the same work finds its run.

        `settings` win over those of the environment and the profile, by their names. Raises Refused with every problem.
        """
        effective = resolve(profile=profile, options=settings or {}, environment=self._environment, env_file=ENV_FILE)
        submitted = self.wait_for(submit(self._database, request, effective, always_new=always_new))
        return Run(self, self._database, submitted.run_id)

    def diff(
        self, left: int | str, right: int | str, *, mode: str | None = None, other_mode: str | None = None
    ) -> Table:
        """How the right run differs from the left: a row per metric, with the interval of paired resamples."""
        found = self.wait_for(compare_runs(self._database, str(left), str(right), mode=mode, other_mode=other_mode))
        if isinstance(found, RetrievalDifference):
            return Table(
                [
                    {
                        **{"ranking": stage.value, "metric": name, "left": delta.left, "right": delta.right},
                        **{"delta": delta.delta.value, "low": delta.delta.low, "high": delta.delta.high},
                    }
                    for stage, deltas in found.deltas.items()
                    for name, delta in deltas.items()
                ]
            )
        return Table(
            [
                {
                    **{"mode": one.right.mode.value, "metric": name, "left": delta.left, "right": delta.right},
                    **{"delta": delta.delta.value, "low": delta.delta.low, "high": delta.delta.high},
                }
                for one in found
                for name, delta in one.deltas.items()
            ]
        )

    def failures(
        self, runs: Sequence[int | str] = (), *, stage: str | None = None, error_type: str | None = None
    ) -> Table:
        """The failures of these runs, or of the newest 20, by type, stage and cause."""

        async def read(connection: Connection) -> Table:
            numbers = [await number_of(connection, run) for run in runs]
            found = await failures_of(connection, numbers, stage=stage, error_type=error_type)
            return Table(rows_of(found.clusters))

        return self.read(read)

    def read(self, work: Callable[[Connection], Awaitable[Result]]) -> Result:
        """The result of a coroutine function on a connection."""

        async def connected() -> Result:
            async with self._database.connection() as connection:
                return await work(connection)

        return self._background.run(connected())

    def wait_for(self, work: Awaitable[Result]) -> Result:
        """The result of a coroutine on the loop of this connection."""

        async def awaited() -> Result:
            return await work

        return self._background.run(awaited())
