"""Where a worker reports what it does to a tracing system; without one, nowhere and at no cost.

A trace is a run: run -> job -> stage -> model call. It has ids, names, numbers and classes of errors, never a text.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final, Protocol

from schemas.errors import StackError
from schemas.values.chat import ChatCall, ChatReply
from schemas.values.model_identities import ModelIdentity
from store.database import Database
from store.runs.stages import Claim

#: OpenTelemetry's own variables; one of them switches it on.
ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


class Tracer(Protocol):
    """A tracing system."""

    def stage(self, claim: Claim, database: Database) -> AbstractAsyncContextManager[None]:
        """The span of a stage, from its claim on."""
        ...

    async def model_call(
        self, call: ChatCall, served_by: ModelIdentity, ask: Callable[[], Awaitable[ChatReply]]
    ) -> ChatReply:
        """Make a call inside its span."""
        ...

    def stop(self) -> None:
        """Send what is not sent yet, for some seconds at most."""
        ...


_tracer: Tracer | None = None


def start(environment: Mapping[str, str]) -> None:
    """Trace from now on, if OpenTelemetry's variables name a collector. Raises StackError without the packages."""
    if not any(environment.get(name) for name in ENDPOINTS):
        return
    try:
        from workers.open_telemetry import exporting
    except ImportError as error:
        raise StackError(
            f"{ENDPOINTS[0]} is set, and {error.name} is not installed. `pip install 'ragq[otel]'` installs it; or "
            "unset the variable."
        ) from error
    use(exporting())


def use(tracer: Tracer | None) -> None:
    """Trace with this from now on."""
    global _tracer
    _tracer = tracer


def stop() -> None:
    """Send what is not sent yet, and trace no more."""
    if _tracer is not None:
        _tracer.stop()
    use(None)


def stage(claim: Claim, database: Database) -> AbstractAsyncContextManager[None]:
    """The span of a stage."""
    return nullcontext() if _tracer is None else _tracer.stage(claim, database)


async def model_call(call: ChatCall, served_by: ModelIdentity, ask: Callable[[], Awaitable[ChatReply]]) -> ChatReply:
    """Make a call, inside its span."""
    return await ask() if _tracer is None else await _tracer.model_call(call, served_by, ask)
