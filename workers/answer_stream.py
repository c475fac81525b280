"""Publishes an answer while a model writes it, through the database, where its text may be."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog

from stages.ports import OnText
from stages.texts.characters import storable
from store.database import DATABASE_ERRORS, Database
from store.runs import answer_pieces

log = structlog.get_logger("ragq.stages")

#: Shortest time between two writes.
EVERY_SECONDS: Final = 0.2


@asynccontextmanager
async def published(database: Database, attempt_id: int) -> AsyncIterator[OnText]:
    """Until the block ends, what is handed over is stored as pieces of the attempt, at most five a second.

    Nothing depends on it: while the database does not answer, the pieces that follow are not published.
    """
    stream = _AnswerStream(database, attempt_id)
    publishing = asyncio.create_task(stream.publish())
    try:
        yield stream.add
    finally:
        stream.end()
        await publishing


class _AnswerStream:
    def __init__(self, database: Database, attempt_id: int) -> None:
        self._database = database
        self._attempt_id = attempt_id
        self._waiting: list[str] = []
        self._woken = asyncio.Event()
        self._is_over = asyncio.Event()

    def add(self, text: str) -> None:
        self._waiting.append(text)
        self._woken.set()

    def end(self) -> None:
        self._is_over.set()
        self._woken.set()

    async def publish(self) -> None:
        ordinal = 0
        while not self._is_over.is_set():
            await self._woken.wait()
            self._woken.clear()
            text = storable("".join(self._waiting))
            self._waiting.clear()
            if not text or self._is_over.is_set():
                continue
            ordinal += 1
            try:
                async with self._database.connection() as connection:
                    await answer_pieces.add(connection, self._attempt_id, ordinal, text)
            except DATABASE_ERRORS as error:
                log.warning("answer_not_published", attempt_id=self._attempt_id, error_type=type(error).__name__)
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_SECONDS):
                    await self._is_over.wait()
