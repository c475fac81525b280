"""The workers that run and those of them that hang."""

from dataclasses import dataclass

from store.database import Connection
from store.runs import hung_workers, workers
from store.runs.hung_workers import HungWorker
from store.runs.workers import LiveWorker


@dataclass(frozen=True, kw_only=True)
class SeenWorker:
    """A worker process with a heartbeat in the last ten seconds."""

    of: LiveWorker
    hangs: HungWorker | None
    """The computation that blocks it; None while it computes."""


@dataclass(frozen=True, kw_only=True)
class SeenWorkers:
    """The workers now."""

    workers: list[SeenWorker]
    """Those that hang first, then the oldest first."""


async def seen_workers(connection: Connection) -> SeenWorkers:
    """The workers now."""
    hanging = {(one.host, one.pid): one for one in await hung_workers.hung(connection)}
    seen = [SeenWorker(of=one, hangs=hanging.get((one.host, one.pid))) for one in await workers.live(connection)]
    seen.sort(key=lambda one: one.hangs is None)
    return SeenWorkers(workers=seen)
