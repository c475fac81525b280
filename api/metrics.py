"""Metrics of one server for Prometheus, and the log of its requests. No label holds a text or an id."""

import asyncio
import logging
import time
from collections.abc import Iterator, Mapping
from typing import Final

import structlog
from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schemas.chains import CHAINS, QUEUES
from schemas.statuses import JobStatus
from schemas.values.estimates import Prices
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

_KINDS: Final = sorted({kind for kind, _ in CHAINS})


class Metrics:
    """Metrics that the process counts itself, and metrics that it reads from the database."""

    def __init__(
        self,
        database: Database,
        *,
        kept_s: float = KEPT_SECONDS,
        kept_times: float = KEPT_TIMES,
        prices: Prices | None = None,
    ) -> None:
        self._database = database
        self._kept_s = kept_s
        self._kept_times = kept_times
        self._prices = prices
        self._totals = AttemptTotals(STAGE_SECONDS)
        self._reading = asyncio.Lock()
        self._read_again_at = 0.0
        self._kept: tuple[Mapping[tuple[str, ...], float], Counts] | None = None
        self._registry = CollectorRegistry()
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
        figures, totals = await self._read()
        registry = CollectorRegistry()
        registry.register(_Collected([*_gauges(figures), *_counters(totals, self._prices)]))
        return generate_latest(registry) + generate_latest(self._registry)

    async def _read(self) -> tuple[Mapping[tuple[str, ...], float], Counts]:
        async with self._reading:
            began = time.monotonic()
            if self._kept is None or began >= self._read_again_at:
                async with self._database.connection() as connection:
                    self._kept = await queue_figures(connection), await self._totals.read(connection)
                ended = time.monotonic()
                self._read_again_at = ended + max(self._kept_s, self._kept_times * (ended - began))
            return self._kept


class _Collected:
    """Metrics that were read already, as a collector of a registry."""

    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> list[Metric]:
        return self._metrics


def _gauges(figures: Mapping[tuple[str, ...], float]) -> Iterator[Metric]:
    depth = GaugeMetricFamily("ragq_queue_depth", "Stages that are due.", labels=("stage",))
    oldest = GaugeMetricFamily(
        "ragq_queue_oldest_seconds", "Age of the stage that has been due longest.", labels=("stage",)
    )
    for stage in QUEUES:
        depth.add_metric((stage,), figures.get(("due", stage), 0))
        oldest.add_metric((stage,), figures.get(("oldest_seconds", stage), 0))
    jobs = GaugeMetricFamily("ragq_jobs", "Stored jobs.", labels=("kind", "status"))
    for kind in _KINDS:
        for status in JobStatus:
            jobs.add_metric((kind, status), figures.get(("jobs", kind, status), 0))
    leases = GaugeMetricFamily(
        "ragq_leases", "Stages that workers hold; expired ones are reclaimed.", labels=("state",)
    )
    for state in ("held", "expired"):
        leases.add_metric((state,), figures["leases", state])
    seen = GaugeMetricFamily(
        "ragq_workers", "Worker processes seen in the last ten seconds.", value=figures[("workers",)]
    )
    yield from (depth, oldest, jobs, leases, seen)


def _counters(totals: Counts, prices: Prices | None) -> Iterator[Metric]:
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
    if prices is not None:
        cost = CounterMetricFamily(
            "ragq_llm_cost",
            "Price of the tokens of ragq_llm_tokens, by RAGQ_PRICES; models without a price are absent.",
            labels=("model", "currency"),
        )
        for model, price in sorted(prices.models.items()):
            paid = totals["tokens", model, "prompt"] * price.prompt + totals["tokens", model, "reply"] * price.reply
            cost.add_metric((model, prices.currency), paid / 1_000_000)
        yield cost


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
        """As an ASGI application."""
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
