"""Metrics of one server for Prometheus, and the log of its requests. No label holds a text or an id."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import structlog
from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schemas.chains import CHAINS, QUEUES
from schemas.statuses import JobStatus
from store.database import Database
from store.runs.attempts import AttemptTotals, Counts
from store.runs.backlog import queue_figures

#: Seconds of a stage; model calls take minutes.
STAGE_SECONDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)

REQUEST_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

#: The database is read at most once in so many seconds, and in so many times what the last reading took: counting the
#: jobs of a large database takes longer than that of a small one.
KEPT_SECONDS: Final = 10.0

KEPT_TIMES: Final = 50.0


class Metrics(Collector):
    """Metrics that the process counts itself, and metrics that it reads from the database."""

    def __init__(self, database: Database, *, kept_s: float = KEPT_SECONDS, kept_times: float = KEPT_TIMES) -> None:
        self._database = database
        self._kept_s = kept_s
        self._kept_times = kept_times
        self._totals = AttemptTotals(STAGE_SECONDS)
        self._reading = asyncio.Lock()
        self._read_again_at = 0.0
        self._figures: Mapping[tuple[str, ...], float] = {}
        self._counts: Counts = Counter()
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self.requests = Histogram(
            "ragq_http_request_seconds",
            "Seconds from a request to the end of its reply, without event streams.",
            ("method", "route", "status"),
            buckets=REQUEST_SECONDS,
            registry=self._registry,
        )
        self.streams = Gauge("ragq_event_streams", "Open event streams.", registry=self._registry)

    async def text(self) -> bytes:
        """Every metric, in the text format of Prometheus. Those of the database are kept for `kept_s`, or longer."""
        async with self._reading:
            began = time.monotonic()
            if began >= self._read_again_at:
                async with self._database.connection() as connection:
                    self._figures = await queue_figures(connection)
                    self._counts = await self._totals.read(connection)
                ended = time.monotonic()
                self._read_again_at = ended + max(self._kept_s, self._kept_times * (ended - began))
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """What was read last, for the registry."""
        for name, counted, what, labels, all_values in _GAUGES:
            gauge = GaugeMetricFamily(f"ragq_{name}", what, labels=labels)
            for values in all_values:
                gauge.add_metric(values, self._figures.get((counted, *values), 0))
            yield gauge
        yield from _counters(self._counts)


_STAGES: Final = [(stage,) for stage in QUEUES]
_LEASES: Final = [("held",), ("expired",)]
_JOBS: Final = [(kind, status) for kind in sorted({kind for kind, _ in CHAINS}) for status in JobStatus]

#: The name of a gauge, that of its figures, what it says, its labels, and their values.
_GAUGES: Final[Sequence[tuple[str, str, str, Sequence[str], Sequence[tuple[str, ...]]]]] = (
    ("queue_depth", "due", "Stages that are due.", ("stage",), _STAGES),
    ("queue_oldest_seconds", "oldest_seconds", "Age of the stage that has been due longest.", ("stage",), _STAGES),
    ("jobs", "jobs", "Stored jobs.", ("kind", "status"), _JOBS),
    ("leases", "leases", "Stages that workers hold; expired ones are reclaimed.", ("state",), _LEASES),
    ("workers", "workers", "Worker processes seen in the last ten seconds.", (), [()]),
)


def _counters(totals: Counts) -> Iterator[Metric]:
    seconds = HistogramMetricFamily(
        "ragq_stage_seconds",
        "Seconds of the attempts that ended since the first reading of this process.",
        labels=("stage", "outcome"),
    )
    bounds = (*map(str, STAGE_SECONDS), "+Inf")
    for stage, outcome in sorted({labels[1:3] for labels in totals if labels[0] == "attempts"}):
        buckets = []
        attempts = 0
        for bucket, bound in enumerate(bounds):
            attempts += totals["attempts", stage, outcome, str(bucket)]
            buckets.append((bound, attempts))
        seconds.add_metric((stage, outcome), buckets, totals["microseconds", stage, outcome] / 1e6)
    yield seconds
    since = "since the first reading of this process"
    for name, what, labels in (
        ("calls", f"Calls of language models {since}; hits reuse a stored reply.", ("model", "cache")),
        ("tokens", f"Tokens of calls with cache=miss {since}.", ("model", "direction")),
        ("tokens_saved", f"Tokens of calls with cache=hit {since}.", ("model", "direction")),
    ):
        counter = CounterMetricFamily(f"ragq_llm_{name}", what, labels=labels)
        for (counted, *values), count in sorted(totals.items()):
            if counted == name:
                counter.add_metric(values, count)
        yield counter


log = structlog.get_logger(__name__)

#: Requested often by machines, or many times by every page: logged at level DEBUG.
_QUIET: Final = ("/healthz", "/readyz", "/metrics", "/static")


class RequestLog:
    """Logs method, route, status and seconds of every request after its reply is sent, and adds them to the metrics.

    Event streams last as long as a client listens, and are absent from the metrics.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0
        is_stream = False
        started = time.perf_counter()

        async def send_noting_status(message: Message) -> None:
            nonlocal status, is_stream
            if message["type"] == "http.response.start":
                status = message["status"]
                is_stream = Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")
            await send(message)

        try:
            await self.app(scope, receive, send_noting_status)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", None)
            if not is_stream:
                self.metrics.requests.labels(scope["method"], route or "none", str(status)).observe(seconds)
            log.log(
                logging.DEBUG if scope["path"].startswith(_QUIET) else logging.INFO,
                "request_served",
                method=scope["method"],
                route=route,
                status=status,
                seconds=round(seconds, 3),
            )
