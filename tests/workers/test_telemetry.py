"""What a tracing system gets of a run: its stages, their statements and calls, and no word of anybody."""

import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import asyncpg
import pytest
import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.asyncpg import AsyncPGInstrumentor
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from schemas.errors import StackError
from schemas.values.base import Value
from schemas.values.chat import ChatCall, Message
from stages.failures import StageFailed
from store.database import Connection, Database
from tests.fakes.chat import ScriptedChat
from tests.store.conftest import StoreRun
from tests.workers.processes import ModelAlone, stage_runner
from workers import telemetry
from workers.runner import StageRunner
from workers.work import Result, StageFunction, Work

MARK = "quetzal"
FUNCTIONS: dict[tuple[str, str, str], StageFunction] = {}


class Said(Value):
    text: str


@pytest.fixture
def exported() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
async def runner(
    database: Database, exported: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[StageRunner]:
    monkeypatch.setattr(telemetry, "_provider", telemetry._provider)
    monkeypatch.setattr(OTLPSpanExporter, "export", lambda _, spans: exported.export(spans))
    stop = telemetry.start({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})
    with stage_runner(database, FUNCTIONS, ModelAlone(database, ScriptedChat(lambda call: f"A {MARK}."))) as running:
        yield running
    stop()
    AsyncPGInstrumentor().uninstrument()
    FUNCTIONS.clear()


async def asking(work: Work) -> Result[Said]:
    call = ChatCall(model="m", messages=(Message(role="user", content=f"Is it a {MARK}?"),), purpose="extract")
    seen.append(structlog.contextvars.get_contextvars())
    return Result(Said(text=(await work.chat.chat(call)).text))


async def failing(work: Work) -> Result[Said]:
    """A stage whose error has text, after a statement whose error has it too."""
    with suppress(asyncpg.DataError):
        async with work.database.connection() as connection:
            await connection.execute("SELECT $1::text::integer", MARK)
    raise RuntimeError(f"cannot parse: {MARK}")


seen: list[dict[str, Any]] = []


def finished(exported: InMemorySpanExporter) -> tuple[ReadableSpan, ...]:
    """The spans that have left the worker."""
    telemetry._provider.force_flush()  # type: ignore[attr-defined]
    return exported.get_finished_spans()


def facts(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_a_run_is_one_trace_of_stages_with_their_statements_and_calls(
    runner: StageRunner, store_run: StoreRun, exported: InMemorySpanExporter
) -> None:
    stored = await store_run("316", "319", stages=("extract",))
    FUNCTIONS["participant", "few_shot", "extract"] = asking
    seen.clear()

    for job_id in stored.job_ids:
        await runner.run("extract", job_id, is_redelivered=False)

    spans = finished(exported)
    stages = [span for span in spans if span.name == "stage extract"]
    (call,) = [span for span in spans if span.name == "chat m"]
    assert [facts(span)["ragq.job"] for span in stages] == stored.job_ids
    assert {span.context.trace_id for span in spans if span.context} == {int(seen[0]["trace_id"], 16)}
    assert (call.parent and call.parent.span_id, seen[0]["span_id"]) == (_own(stages[0]), f"{_own(stages[0]):016x}")
    assert (facts(call)["gen_ai.operation.name"], facts(call)["gen_ai.request.model"]) == ("chat", "m")
    statements = [facts(span)["db.statement"] for span in spans if facts(span).get("db.system") == "postgresql"]
    assert any("INSERT INTO llm_call" in statement for statement in statements)


async def test_no_word_of_anybody_is_in_spans(
    runner: StageRunner, store_run: StoreRun, exported: InMemorySpanExporter
) -> None:
    stored = await store_run("316", "319", stages=("extract",))
    for job_id, function in zip(stored.job_ids, (asking, failing), strict=True):
        FUNCTIONS["participant", "few_shot", "extract"] = function
        try:
            await runner.run("extract", job_id, is_redelivered=False)
        except StageFailed:
            assert function is failing

    spans = finished(exported)
    failed = [span for span in spans if span.status.status_code is StatusCode.ERROR]
    assert [(span.name, facts(span).get("error.type"), span.status.description, span.events) for span in failed] == [
        ("SELECT", None, None, ()),
        ("stage extract", "builtins.RuntimeError", None, ()),
    ]
    assert MARK not in "".join(span.to_json() for span in spans)


async def test_what_runs_beside_stages_is_not_traced(
    runner: StageRunner, connection: Connection, exported: InMemorySpanExporter
) -> None:
    await connection.execute("SELECT 1")
    assert finished(exported) == ()


def test_a_named_collector_without_the_packages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(StackError, match=r"ragq\[otel\]"):
        telemetry.start({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})


def _own(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)
