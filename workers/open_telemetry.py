"""Traces and metrics of OpenTelemetry, with its semantic conventions for generative models.

The trace of a run and the spans of run and job have ids that follow from their numbers: stages of a run are computed by
many processes, which need not tell each other. Spans of job and run are sent when they have ended.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

import structlog
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import MeterProvider
from opentelemetry.sdk.metrics import MeterProvider as SdkMeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags, set_span_in_context

from schemas.values.chat import ChatCall, ChatReply
from schemas.values.model_identities import ModelIdentity
from stages import failures
from store.database import DATABASE_ERRORS, Database
from store.runs.stages import Claim
from workers.stage_failed import StageFailed

log = structlog.get_logger(__name__)

ENDED: Final = """
SELECT j.status, j.mode, j.created_at, j.finished_at, r.kind, r.created_at AS run_created_at,
       CASE WHEN NOT EXISTS (SELECT FROM job AS o WHERE o.run_id = r.id AND o.finished_at IS NULL)
            THEN (SELECT max(o.finished_at) FROM job AS o WHERE o.run_id = r.id) END AS run_finished_at
FROM job AS j JOIN run AS r ON r.id = j.run_id WHERE j.id = $1 AND j.finished_at IS NOT NULL
"""

_SERVICE: Final = "ragq"
_STOP_MS: Final = 2000

_next_trace: ContextVar[int | None] = ContextVar("next_trace", default=None)
_next_span: ContextVar[int | None] = ContextVar("next_span", default=None)


class ChosenIds(RandomIdGenerator):
    """Random ids, but where one is chosen."""

    def generate_trace_id(self) -> int:
        """The chosen id of a trace, else a random one."""
        return _next_trace.get() or super().generate_trace_id()

    def generate_span_id(self) -> int:
        """The chosen id of a span, else a random one."""
        return _next_span.get() or super().generate_span_id()


class OpenTelemetry:
    """The tracer of one process."""

    def __init__(self, spans: TracerProvider, metrics: MeterProvider) -> None:
        self._providers: tuple[Any, ...] = (spans, metrics)
        self._tracer = spans.get_tracer(_SERVICE)
        meter = metrics.get_meter(_SERVICE)
        self._stage_seconds = meter.create_histogram("ragq.stage.duration", "s", "Duration of a stage.")
        self._call_seconds = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", "Duration of a call of a language model."
        )
        self._tokens = meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of a call.")

    @asynccontextmanager
    async def stage(self, claim: Claim, database: Database) -> AsyncIterator[None]:
        """See Tracer."""
        trace_id = _id(16, "run", claim.run_id, claim.settings_hash)
        attributes: dict[str, int | str] = {
            "ragq.run": claim.run_id,
            "ragq.job": claim.job_id,
            "ragq.stage": claim.stage,
            "ragq.attempt": claim.attempt,
            "ragq.kind": claim.kind,
            "ragq.mode": claim.mode,
        }
        began = time.monotonic()
        measured = {"ragq.stage": claim.stage, "ragq.kind": claim.kind}
        try:
            with (
                self._tracer.start_as_current_span(
                    f"stage {claim.stage}",
                    context=_inside(trace_id, _id(8, "job", claim.job_id)),
                    attributes=attributes,
                    record_exception=False,
                    set_status_on_exception=False,
                ) as span,
                structlog.contextvars.bound_contextvars(
                    trace_id=f"{trace_id:032x}", span_id=f"{span.get_span_context().span_id:016x}"
                ),
            ):
                try:
                    yield
                except Exception as error:
                    measured["error.type"] = str(error) if isinstance(error, StageFailed) else failures.type_name(error)
                    span.set_attribute("error.type", measured["error.type"])
                    span.set_status(StatusCode.ERROR)
                    raise
        finally:
            self._stage_seconds.record(time.monotonic() - began, measured)
            await self._report_ends(claim, trace_id, database)

    async def model_call(
        self, call: ChatCall, served_by: ModelIdentity, ask: Callable[[], Awaitable[ChatReply]]
    ) -> ChatReply:
        """See Tracer."""
        named = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": served_by.backend,
            "gen_ai.request.model": call.model,
        }
        began = time.monotonic()
        with self._tracer.start_as_current_span(
            f"chat {call.model}",
            kind=SpanKind.CLIENT,
            attributes=named | {"gen_ai.request.temperature": call.temperature},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                reply = await ask()
            except Exception as error:
                span.set_attribute("error.type", failures.type_name(error))
                span.set_status(StatusCode.ERROR)
                self._call_seconds.record(time.monotonic() - began, named | {"error.type": failures.type_name(error)})
                raise
            self._call_seconds.record(time.monotonic() - began, named)
            span.set_attribute("gen_ai.response.model", reply.model)
            span.set_attribute("gen_ai.response.finish_reasons", (reply.stop_reason,))
            for direction, count in (("input", reply.prompt_tokens), ("output", reply.reply_tokens)):
                if count is not None:
                    span.set_attribute(f"gen_ai.usage.{direction}_tokens", count)
                    self._tokens.record(count, named | {"gen_ai.token.type": direction})
        return reply

    def stop(self) -> None:
        """See Tracer."""
        for provider in self._providers:
            provider.force_flush(_STOP_MS)
            provider.shutdown()

    async def _report_ends(self, claim: Claim, trace_id: int, database: Database) -> None:
        """Send the spans of the job, and of the run, if this was their last stage."""
        try:
            async with database.connection() as connection:
                row = await connection.fetchrow(ENDED, claim.job_id)
        except DATABASE_ERRORS as error:
            log.warning("end_not_traced", job_id=claim.job_id, error_type=type(error).__name__)
            return
        if row is None:
            return
        run_span = _id(8, "run", claim.run_id)
        job = {
            "ragq.run": claim.run_id,
            "ragq.job": claim.job_id,
            "ragq.mode": row["mode"],
            "ragq.status": row["status"],
        }
        self._report("job", trace_id, _id(8, "job", claim.job_id), run_span, row["created_at"], row["finished_at"], job)
        if row["run_finished_at"] is not None:
            run = {"ragq.run": claim.run_id, "ragq.kind": row["kind"]}
            self._report("run", trace_id, run_span, None, row["run_created_at"], row["run_finished_at"], run)

    def _report(
        self,
        name: str,
        trace_id: int,
        span_id: int,
        parent: int | None,
        began: datetime,
        ended: datetime,
        attributes: dict[str, Any],
    ) -> None:
        tokens = _next_trace.set(trace_id), _next_span.set(span_id)
        try:
            # An empty context: the span of whoever calls is not its parent.
            context = set_span_in_context(NonRecordingSpan(SpanContext(0, 0, is_remote=False)))
            span = self._tracer.start_span(
                name,
                context=context if parent is None else _inside(trace_id, parent),
                start_time=_nanoseconds(began),
                attributes=attributes,
            )
            span.end(_nanoseconds(ended))
        finally:
            _next_trace.reset(tokens[0])
            _next_span.reset(tokens[1])


def exporting() -> OpenTelemetry:
    """A tracer that sends to the collector that OpenTelemetry's variables name."""
    resource = Resource.create({"service.name": _SERVICE})
    spans = TracerProvider(resource=resource, id_generator=ChosenIds())
    spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    return OpenTelemetry(spans, SdkMeterProvider(metric_readers=[reader], resource=resource))


def _inside(trace_id: int, span_id: int) -> Any:
    parent = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return set_span_in_context(NonRecordingSpan(parent))


def _id(size: int, *parts: object) -> int:
    return int.from_bytes(sha256(" ".join(map(str, ("ragq", *parts))).encode()).digest()[:size], "big")


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1e9)
