"""Documents whose stages run in this process, with models that tests define."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from schemas.chains import stages_of
from schemas.settings.resolve import EffectiveSettings, resolve
from schemas.values.chat import ChatCall
from schemas.values.requests import ImportRequest
from services.documents import needed
from services.imports import Imported, WorkFile, import_files
from store.database import Connection, Database
from tests.workers.processes import FakeWiring, stage_runner
from workers.process import FUNCTIONS
from workers.runner import Outcome, StageRunner

CHAIN: Final = stages_of("work", "document")
BOOK: Final = """\
---
title: On tea
year: 2019
---
# Tea

Tea is a drink of leaves.

### Leaves

Green leaves and brown leaves.

## References

A book of leaves.
"""
"""Rules make its heading at line 9 one of level 2, and skip its references."""


@dataclass
class Library:
    """A database, and a process to run the stages of documents in."""

    database: Database
    connection: Connection
    runner: StageRunner
    wiring: FakeWiring
    calls: list[ChatCall] = field(default_factory=list)

    def settings(self, **values: str) -> EffectiveSettings:
        """Those of the fake models, with other values."""
        options = {"MODEL_EMBEDDING_MODEL": "fake", "EMBEDDING_DIMENSION": "8", **values}
        return resolve(profile="paper", options=options, environment={})

    async def imported(
        self, text: str = BOOK, *, name: str = "tea.md", by_stages: bool = True, **values: str
    ) -> Imported:
        request = ImportRequest(corpus="library", chunk_tokens=0, by_stages=by_stages)
        file = WorkFile(name, text.encode(), name)
        return await import_files(self.database, request, [file], self.settings(**values))

    async def job(self, text: str = BOOK, **values: str) -> int:
        """Import a file by stages; its job."""
        imported = await self.imported(text, name="tea.md", by_stages=True, **values)
        return await self.job_of_run(imported.submitted[-1].run_id)

    async def job_of_run(self, run_id: int) -> int:
        found: int = await self.value("SELECT id FROM job WHERE run_id = $1", run_id)
        return found

    async def run(self, job_id: int, *, until: str = CHAIN[-1]) -> None:
        """Run the stages that are due, up to one."""
        for stage in CHAIN[: CHAIN.index(until) + 1]:
            status = await self.value("SELECT status FROM stage_run WHERE job_id = $1 AND stage = $2", job_id, stage)
            if status != "done":
                assert await self.runner.run(stage, job_id, is_redelivered=False) is Outcome.STORED

    async def output(self, job_id: int, output: type[Any]) -> Any:
        return await needed(self.connection, job_id, output)

    async def value(self, query: str, *arguments: object) -> Any:
        return await self.connection.fetchval(query, *arguments)

    async def chunks(self) -> str:
        """Levels and states of the chunks of the only work."""
        found: str = await self.value(
            "SELECT string_agg(level || ' ' || vector_status, ', ' ORDER BY start_line, id) FROM chunks"
        )
        return found

    def answers(self, answer: Callable[[ChatCall], str]) -> None:
        def noted(call: ChatCall) -> str:
            self.calls.append(call)
            return answer(call)

        self.wiring.answer = noted


@asynccontextmanager
async def made_library(database: Database) -> AsyncIterator[Library]:
    """The works of a database, and a process to run stages in until the end of the block."""
    wiring = FakeWiring(database, lambda call: "")
    async with database.connection() as connection:
        with stage_runner(database, FUNCTIONS, wiring, lease_s=60) as runner:
            yield Library(database, connection, runner, wiring)


@pytest.fixture
async def library(database: Database) -> AsyncIterator[Library]:
    async with made_library(database) as made:
        yield made
