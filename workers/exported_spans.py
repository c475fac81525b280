"""What leaves a worker for a collector of OpenTelemetry: ids, names, numbers and classes of errors, never a text."""

from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.asyncpg import AsyncPGInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace import Status


class _WithoutWords(SpanExporter):
    """Leaves out the messages of errors, which may quote what failed."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._exporter.export(
            [
                ReadableSpan(
                    span.name,
                    span.context,
                    span.parent,
                    span.resource,
                    span.attributes,
                    kind=span.kind,
                    status=Status(span.status.status_code),
                    start_time=span.start_time,
                    end_time=span.end_time,
                    instrumentation_scope=span.instrumentation_scope,
                )
                for span in spans
            ]
        )

    def shutdown(self) -> None:
        self._exporter.shutdown()


def provider(exporter: SpanExporter | None = None) -> TracerProvider:
    """Records the spans of stages and what is inside them, statements too; not those of heartbeats, say.

    Without an exporter it sends them to the collector that OpenTelemetry's variables name.
    """
    made = TracerProvider(sampler=ParentBased(ALWAYS_OFF), resource=Resource.create({"service.name": "ragq"}))
    made.add_span_processor(BatchSpanProcessor(_WithoutWords(exporter or OTLPSpanExporter())))
    AsyncPGInstrumentor().instrument(tracer_provider=made)
    return made
