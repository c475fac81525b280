"""Spans of stages, statements and model calls, where OpenTelemetry's variables name a collector.

The stages of a run are computed by many processes: the id of its trace follows from its number, so that they need not
tell each other. Celery's instrumentation would show nothing of a stage, which runs on the loop of the process.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

import structlog
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, Status, TraceFlags

from schemas.errors import StackError
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from stages import failures
from store.runs.stages import Claim

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
#: Of a span. Messages of errors, which may quote what failed, are in its events and in the words of its status.
EXPORTED: Final = (
    *("name", "context", "parent", "resource", "attributes"),
    *("kind", "start_time", "end_time", "instrumentation_scope"),
)

_provider: trace.TracerProvider = trace.NoOpTracerProvider()


def start(environment: Mapping[str, str]) -> Callable[[], None]:
    """Trace stages, and what is inside them, if a variable names a collector. Raises StackError without the packages.
    Returns what sends the last of it, for some seconds at most."""
    global _provider
    if not any(environment.get(name) for name in ENDPOINTS):
        return lambda: None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.instrumentation.asyncpg import AsyncPGInstrumentor
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
        from opentelemetry.sdk.trace.sampling import DEFAULT_OFF
    except ImportError as error:
        raise StackError(f"{ENDPOINTS[0]} is set, and {error.name} is missing: `pip install 'ragq[otel]'`.") from error

    class WithoutWords(OTLPSpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            found = [({name: getattr(span, name) for name in EXPORTED}, span.status.status_code) for span in spans]
            return super().export([ReadableSpan(**facts, status=Status(code)) for facts, code in found])

    made = TracerProvider(sampler=DEFAULT_OFF, resource=Resource.create({"service.name": "ragq"}))
    made.add_span_processor(BatchSpanProcessor(WithoutWords()))
    AsyncPGInstrumentor().instrument(tracer_provider=made)
    _provider = made
    return made.shutdown


@contextmanager
def stage(claim: Claim) -> Iterator[None]:
    """The span of a stage, in the trace of its run; log lines have its ids."""
    digest = sha256(f"ragq run {claim.run_id} {claim.settings_hash}".encode()).digest()
    ids = int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:24], "big")
    run = NonRecordingSpan(SpanContext(*ids, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)))
    facts = ("run_id", "job_id", "stage", "attempt", "kind", "mode")
    attributes = {f"ragq.{name.removesuffix('_id')}": getattr(claim, name) for name in facts}
    with _span(f"stage {claim.stage}", attributes, context=trace.set_span_in_context(run)) as span:
        own = span.get_span_context()
        logged = {"trace_id": trace.format_trace_id(own.trace_id), "span_id": trace.format_span_id(own.span_id)}
        with structlog.contextvars.bound_contextvars(**logged if span.is_recording() else {}):
            yield


async def model_call(call: ChatCall, served_by: ModelIdentity, ask: Callable[[], Awaitable[ChatReply]]) -> ChatReply:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": served_by.backend,
        "gen_ai.request.model": call.model,
        "gen_ai.request.temperature": call.temperature,
    }
    with _span(f"chat {call.model}", attributes, kind=SpanKind.CLIENT) as span:
        reply = await ask()
        span.set_attribute("gen_ai.response.model", reply.model)
        span.set_attribute("gen_ai.response.finish_reasons", (reply.stop_reason,))
        used = {"input": reply.prompt_tokens, "output": reply.reply_tokens}
        span.set_attributes({f"gen_ai.usage.{name}_tokens": count for name, count in used.items() if count is not None})
    return reply


@contextmanager
def _span(name: str, attributes: Mapping[str, Any], **options: Any) -> Iterator[Span]:
    with _provider.get_tracer("ragq").start_as_current_span(name, attributes=attributes, **options) as span:
        try:
            yield span
        except Exception as error:
            span.set_attribute("error.type", failures.type_name(error))
            raise
