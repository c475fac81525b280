"""What a process of workers has, in the process of the test."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from schemas.settings.process import LLMLimits, ProcessSettings
from schemas.settings.run import RunSettings, thaw
from store.database import Database
from store.runs import runs, stages
from tests.store.scored import claimed
from workers.call_limits import CallLimits
from workers.leases import Leases
from workers.ledger_chat import CallLedger
from workers.runner import StageRunner
from workers.wiring import Wiring
from workers.work import Result, StageFunction, StageFunctions, Work


def wiring_of(database: Database) -> Wiring:
    """The wiring of a process without settings of its own."""
    return Wiring(ProcessSettings(), database, ollama_url=None, is_crowded=lambda: False)


def runner_of(
    database: Database, leases: Leases, functions: StageFunctions, wiring: Wiring | None = None, *, lease_s: float = 6
) -> StageRunner:
    """A runner that poisons at the third interruption."""
    settings = ProcessSettings(ragq_lease_seconds=lease_s)
    return StageRunner(database, leases, wiring or wiring_of(database), functions, settings, worker_id="worker")


@contextmanager
def stage_runner(
    database: Database, functions: StageFunctions, wiring: Wiring | None = None, *, lease_s: float = 6
) -> Iterator[StageRunner]:
    """A runner with leases of its own, until the end of the block."""
    leases = Leases(database.url, "worker", lease_s=lease_s)
    try:
        yield runner_of(database, leases, functions, wiring, lease_s=lease_s)
    finally:
        leases.stop()


class ModelAlone:
    """The wiring of a process that has a language model and nothing else."""

    def __init__(self, database: Database, model: Any) -> None:
        self.calls = CallLedger(database, CallLimits(database, LLMLimits()))
        self._model = model

    def chat(self, _: RunSettings) -> Any:
        return self._model


async def run_stage(
    database: Database, job_id: int, stage: str, function: StageFunction, model: Any
) -> tuple[Result[Any], dict[str, Any]]:
    """Run a stage of a job with a model, and store it. Its result, and the inputs that it noted."""
    claim = await database.ask(claimed, job_id, stage)
    settings = thaw(await database.ask(runs.settings, claim.run_id))
    wiring: Any = ModelAlone(database, model)
    read: dict[str, Any] = {}
    result = await function(Work(claim, settings.run, database, wiring, read, settings.preset))
    output = result.output.model_dump(mode="json")
    await database.ask(stages.commit, claim, inputs=read, output=output, effect=result.effect)
    return result, read
