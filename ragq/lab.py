"""A connection to ragq's database and broker, and the runs that it has."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ragq.start import shadowing
from schemas.errors import Refused
from schemas.settings.base import ENV_FILE, merged
from schemas.settings.resolve import resolve
from schemas.values.participants import PHQ8Item
from schemas.values.reports import Report, RetrievalReport
from schemas.values.requests import ParticipantRequest, QueryRequest, SubmittedQuery, TagsRequest
from schemas.values.runs import run_number
from services.reports import report_of
from services.submit import Request, submit
from stack.connections import connections
from store.database import Connection, Database, LoopThread
from store.runs import overviews, runs
from store.runs.overviews import RunOverview
from store.views import RunState, reported_run, run_state, scores_of_run

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Lab", "Refused", "Run", "connect"]
__all__ += ["ParticipantRequest", "QueryRequest", "SubmittedQuery", "TagsRequest"]

Result = TypeVar("Result")

_POLL_S = 0.5


def connect(*, database_url: str | None = None, redis_url: str | None = None) -> "Lab":
    """Connect to these servers; without them to those of the environment, the .env file, or the running stack.

    Raises Refused when there are none, and where Python imports other packages than ragq's.
    """
    if foreign := list(shadowing()):
        names = ", ".join(f"'{name}' from {place}" for name, place in foreign)
        raise Refused(f"Python imports {names}, which are not ragq's. Install ragq in an environment of its own.")
    given = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    return Lab({**os.environ, **{name: url for name, url in given.items() if url is not None}})


class Lab:
    """What a database of ragq has, and what can be submitted to it. Methods wait for their result."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        servers = connections(merged(environment, ENV_FILE))
        self._environment = dict(environment)
        self._loop = LoopThread("ragq")
        self.database = Database(servers.database_url, pool_size=2, application_name="ragq-python")

    def __enter__(self) -> "Lab":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._loop.run(self.database.close())
        self._loop.stop()

    def runs(self, *, limit: int = 20, kind: str | None = None, search: str = "") -> list[RunOverview]:
        """The newest runs, newest first. Each word of `search` occurs in name, note, request or states."""
        return self.read(lambda connection: overviews.overviews(connection, limit=limit, kind=kind, search=search))

    def run(self, run: int | str) -> "Run":
        """A run by number or name. Raises Refused when there is none."""
        return Run(self, self.read(lambda connection: _number_of(connection, run)))

    def submit(
        self,
        request: Request,
        *,
        profile: str | None = None,
        settings: Mapping[str, str] | None = None,
        always_new: bool = False,
    ) -> "Run":
        """Submit participants, questions or phrases; the same work finds its run.

        `settings` win over those of the environment and the profile, by their names. Raises Refused with every problem.
        """
        effective = resolve(profile=profile, options=settings or {}, environment=self._environment, env_file=ENV_FILE)
        (submitted,) = self.wait_for(submit(self.database, request, effective, always_new=always_new))
        return Run(self, submitted.run_id)

    def read(self, work: Callable[[Connection], Awaitable[Result]]) -> Result:
        """The result of a coroutine function on a connection."""
        return self.wait_for(self.database.once(work))

    def wait_for(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of a coroutine on the loop of this connection. An interrupt of the cell cancels it."""
        return self._loop.run(work)


class Run:
    """A stored run."""

    def __init__(self, lab: Lab, run_id: int) -> None:
        self._lab = lab
        self.id = run_id

    def __repr__(self) -> str:
        return f"<ragq run r{self.id}>"

    def overview(self) -> RunOverview:
        """Name, kind, request, times, and how many jobs are in each state."""
        return self._lab.read(lambda connection: overviews.get(connection, self.id))

    def wait(self, timeout: float | None = None) -> RunState:
        """Wait until nothing of it runs or will start by itself. Raises TimeoutError after so many seconds."""

        async def idle() -> RunState:
            async with asyncio.timeout(timeout):
                while True:
                    async with self._lab.database.connection() as connection:
                        found = await run_state(connection, self.id)
                    if found.is_idle:
                        return found
                    await asyncio.sleep(_POLL_S)

        return self._lab.wait_for(idle())

    def scores(self) -> list[dict[str, Any]]:
        """A record for each participant, mode and item: `participant`, `mode`, `item`, `score`, which is None where the
        model gave none or the job has not succeeded, and `truth`, which is None without item labels. Raises Refused
        for runs that score none."""
        found = self._lab.read(lambda connection: scores_of_run(connection, self.id))
        return [
            {
                "participant": one.participant_id,
                "mode": one.mode.value,
                "item": item.value,
                "score": None if one.scores is None else one.scores[item],
                "truth": None if one.truth is None else one.truth[item],
            }
            for one in found.scores
            for item in PHQ8Item
        ]

    def scores_table(self) -> "pa.Table":
        """The scores as an Arrow table, which data frames are made of. Needs `ragq[frames]`."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.scores())

    def report(self, **measures: Any) -> Report | RetrievalReport:
        """The report, with measures by their names: `bootstrap_resamples=1000`, `loss="abs_norm"`, `cutoff=5`."""
        found = self._lab.read(lambda connection: reported_run(connection, self.id))
        return report_of(found, measures)


async def _number_of(connection: Connection, run: int | str) -> int:
    number = run if isinstance(run, int) else run_number(run) or await runs.by_words(connection, run)
    if number is None:
        raise Refused(f"'{run}' is neither the number of a run, like r12, nor a run's name.")
    await runs.require(connection, number)
    return number
