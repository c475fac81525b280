"""Spans of stages, statements and model calls, where OpenTelemetry's variables name a collector.

The stages of a run are computed by many processes: the id of its trace follows from its number, so that they need not
tell each other. Celery's instrumentation would show nothing of a stage, which runs on the loop of the process.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

import structlog
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, StatusCode, TraceFlags

from schemas.errors import StackError
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from stages import failures
from store.runs.stages import Claim


class StageFailed(Exception):
    """Raised in place of a foreign exception that ended a stage: with its type, without its message."""


#: OpenTelemetry's own variables; one of them switches it on.
ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

_provider: trace.TracerProvider = trace.NoOpTracerProvider()


def start(environment: Mapping[str, str]) -> None:
    """Trace from now on, if a variable names a collector. Raises StackError without the packages."""
    if not any(environment.get(name) for name in ENDPOINTS):
        return
    try:
        from workers.exported_spans import provider
    except ImportError as error:
        raise StackError(
            f"{ENDPOINTS[0]} is set, and {error.name} is not installed. `pip install 'ragq[otel]'` installs it; or "
            "unset the variable."
        ) from error
    use(provider())


def use(provider: trace.TracerProvider) -> None:
    """Trace with this from now on."""
    global _provider
    _provider = provider


def stop() -> None:
    """Send what is not sent yet, for some seconds at most, and trace no more."""
    if not isinstance(_provider, trace.NoOpTracerProvider):
        _provider.shutdown()  # type: ignore[attr-defined]  # Of the SDK's provider.
    use(trace.NoOpTracerProvider())


@contextmanager
def stage(claim: Claim) -> Iterator[None]:
    """The span of a stage, in the trace of its run."""
    digest = sha256(f"ragq run {claim.run_id} {claim.settings_hash}".encode()).digest()
    ids = int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:24], "big")
    run = NonRecordingSpan(SpanContext(*ids, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)))
    facts = ("run_id", "job_id", "stage", "attempt", "kind", "mode")
    attributes = {f"ragq.{name.removesuffix('_id')}": getattr(claim, name) for name in facts}
    with (
        _span(f"stage {claim.stage}", attributes, context=trace.set_span_in_context(run)) as span,
        structlog.contextvars.bound_contextvars(**_ids(span)),
    ):
        yield


async def model_call(call: ChatCall, served_by: ModelIdentity, ask: Callable[[], Awaitable[ChatReply]]) -> ChatReply:
    """Make a call, inside its span."""
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
        for direction, count in (("input", reply.prompt_tokens), ("output", reply.reply_tokens)):
            if count is not None:
                span.set_attribute(f"gen_ai.usage.{direction}_tokens", count)
    return reply


@contextmanager
def _span(name: str, attributes: Mapping[str, Any], **options: Any) -> Iterator[Span]:
    with _provider.get_tracer("ragq").start_as_current_span(name, attributes=attributes, **options) as span:
        try:
            yield span
        except Exception as error:
            kind = str(error) if isinstance(error, StageFailed) else failures.type_name(error)
            span.set_attribute("error.type", kind)
            span.set_status(StatusCode.ERROR)
            raise


def _ids(span: Span) -> dict[str, str]:
    found = span.get_span_context()
    return {"trace_id": f"{found.trace_id:032x}", "span_id": f"{found.span_id:016x}"} if span.is_recording() else {}
