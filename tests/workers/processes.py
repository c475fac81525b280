"""What a process of workers has, in the process of the test."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from schemas.settings.process import ProcessSettings
from schemas.settings.run import RunSettings
from schemas.values.chat import ChatCall
from stages.ports import ChatModel, Embedder, PairScorer
from store.database import Database
from tests.fakes.chat import ScriptedChat
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.pair_scorer import FakePairScorer
from workers.call_limits import CallLimits
from workers.leases import Leases
from workers.ledger_chat import CallLedger
from workers.runner import StageRunner
from workers.wiring import Wiring
from workers.work import StageFunctions


class FakeWiring(Wiring):
    """The wiring of a process whose models are fakes; the language model answers as the test says."""

    def __init__(self, database: Database, answer: Callable[[ChatCall], str]) -> None:
        super().__init__(ProcessSettings(), database, ollama_url=None, is_crowded=lambda: False)
        self.answer = answer

    def embedder(self, settings: RunSettings, *, priority: int = 0) -> Embedder:
        return FakeEmbedder()

    def chat(self, settings: RunSettings) -> ChatModel:
        return ScriptedChat(lambda call: self.answer(call))

    def pair_scorer(self, model: str) -> PairScorer:
        return FakePairScorer()


@contextmanager
def stage_runner(
    database: Database, functions: StageFunctions, wiring: Any = None, *, lease_s: float = 6
) -> Iterator[StageRunner]:
    """A runner that poisons at the third interruption, with leases of its own, until the end of the block."""
    leases = Leases(database.url, "worker", lease_s=lease_s)
    settings = ProcessSettings(ragq_lease_seconds=lease_s)
    try:
        yield StageRunner(database, leases, wiring, functions, settings, worker_id="worker")
    finally:
        leases.stop()


class ModelAlone:
    """The wiring of a process that has a language model and nothing else."""

    def __init__(self, database: Database, model: Any) -> None:
        self.calls = CallLedger(database, CallLimits(database, ProcessSettings()))
        self._model = model

    def chat(self, _: RunSettings) -> Any:
        return self._model
