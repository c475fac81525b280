"""What a tracing system gets of a run: its tree, its numbers, and no word of anybody."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import structlog
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from schemas.errors import StackError
from schemas.settings.process import LLMLimits, ProcessSettings
from schemas.values.base import Value
from schemas.values.chat import ChatCall, Message
from store.database import Database
from store.runs.runs import StoredRun
from tests.fakes.chat import ScriptedChat
from workers import traces
from workers.call_limits import CallLimits
from workers.frozen_models import FrozenModels
from workers.leases import Leases
from workers.ledger_chat import CallingAttempt, InFlightCalls, LedgerChat
from workers.open_telemetry import ChosenIds, OpenTelemetry
from workers.runner import StageRunner
from workers.stage_failed import StageFailed
from workers.wiring import Wiring
from workers.work import Result, StageFunction, Work

StoreRun = Callable[..., Awaitable[StoredRun]]

MARK = "quetzal"
FUNCTIONS: dict[tuple[str, str, str], StageFunction] = {}


class Said(Value):
    """An output with text."""

    text: str


@pytest.fixture
def exported() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def measured() -> InMemoryMetricReader:
    return InMemoryMetricReader()


@pytest.fixture
async def runner(
    database: Database, database_url: str, exported: InMemorySpanExporter, measured: InMemoryMetricReader
) -> AsyncIterator[StageRunner]:
    """A traced runner."""
    spans = TracerProvider(id_generator=ChosenIds(), shutdown_on_exit=False)
    spans.add_span_processor(SimpleSpanProcessor(exported))
    traces.use(OpenTelemetry(spans, MeterProvider([measured], shutdown_on_exit=False)))
    leases = Leases(database_url, "worker", lease_s=6, heartbeat_s=1)
    wiring = Wiring(ProcessSettings(), database, ollama_url=None, is_crowded=lambda: False)
    yield StageRunner(
        database, leases, wiring, FUNCTIONS, worker_id="worker", lease_s=6, grace_s=5, max_interruptions=3
    )
    leases.stop()
    traces.stop()
    FUNCTIONS.clear()


async def asking(work: Work) -> Result[Said]:
    """A stage that asks a model."""
    call = ChatCall(model="m", messages=(Message(role="user", content=f"Is it a {MARK}?"),), purpose="extract")
    chat = LedgerChat(
        ScriptedChat(lambda call: f"A {MARK}."),
        work.database,
        CallingAttempt.of(work.claim),
        InFlightCalls(),
        FrozenModels(work.database),
        CallLimits(work.database, LLMLimits()),
    )
    seen.append(structlog.contextvars.get_contextvars())
    return Result(Said(text=(await chat.chat(call)).text))


async def failing(work: Work) -> Result[Said]:
    """A stage whose error has text."""
    raise RuntimeError(f"cannot parse: {MARK}")


seen: list[dict[str, Any]] = []


async def test_a_run_is_one_trace_of_run_job_stage_and_model_call(
    runner: StageRunner, store_run: StoreRun, exported: InMemorySpanExporter, measured: InMemoryMetricReader
) -> None:
    stored = await store_run("316", stages=("extract",))
    FUNCTIONS["participant", "few_shot", "extract"] = asking
    seen.clear()

    await runner.run("extract", stored.job_ids[0], is_redelivered=False)

    call, stage, job, run = exported.get_finished_spans()
    assert [span.name for span in (call, stage, job, run)] == ["chat m", "stage extract", "job", "run"]
    assert [_parent(span) for span in (call, stage, job, run)] == [_own(stage), _own(job), _own(run), None]
    assert {span.context.trace_id for span in (call, stage, job, run) if span.context} == {int(seen[0]["trace_id"], 16)}
    assert dict(stage.attributes or {})["ragq.job"] == stored.job_ids[0]
    assert dict(call.attributes or {})["gen_ai.operation.name"] == "chat"
    assert dict(job.attributes or {})["ragq.status"] == "succeeded"
    names = {metric.name for metric in _metrics(measured)}
    assert {"ragq.stage.duration", "gen_ai.client.operation.duration"} <= names


async def test_no_word_of_anybody_is_in_spans_and_metrics(
    runner: StageRunner, store_run: StoreRun, exported: InMemorySpanExporter, measured: InMemoryMetricReader
) -> None:
    stored = await store_run("316", "319", stages=("extract",))
    for job_id, function in zip(stored.job_ids, (asking, failing), strict=True):
        FUNCTIONS["participant", "few_shot", "extract"] = function
        try:
            await runner.run("extract", job_id, is_redelivered=False)
        except StageFailed:
            assert function is failing

    spans = exported.get_finished_spans()
    failed = [span for span in spans if dict(span.attributes or {}).get("error.type") == "builtins.RuntimeError"]
    assert [(span.name, span.status.description, span.events) for span in failed] == [("stage extract", None, ())]
    assert MARK not in "".join(span.to_json() for span in spans)
    assert MARK not in str(_metrics(measured))
    assert len([span for span in spans if span.name == "run"]) == 1


def test_a_named_collector_without_the_packages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "workers.open_telemetry", None)
    with pytest.raises(StackError, match=r"ragq\[otel\]"):
        traces.start({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})


def test_nothing_is_traced_unless_it_is_asked_for() -> None:
    traces.start({})
    assert traces._tracer is None


def _own(span: ReadableSpan) -> int | None:
    return None if span.context is None else int(span.context.span_id)


def _parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else int(span.parent.span_id)


def _metrics(reader: InMemoryMetricReader) -> list[Any]:
    data = reader.get_metrics_data()
    assert data is not None
    return [metric for of in data.resource_metrics for scope in of.scope_metrics for metric in scope.metrics]
