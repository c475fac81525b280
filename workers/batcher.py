"""Gathers the texts of concurrent tasks into one forward pass of an embedding model.

Every task keeps its own transaction, exception and chain; only the model sees them together. A lone task does not
wait. When a pass raises, its requests are tried one by one, so that one bad text fails one job. Requests have a
priority: between two passes of an import, the questions that have come meanwhile are embedded.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import structlog

from schemas.errors import LLMTimeoutError, TextTooLongError
from stages.ports import TextEncoder, TextVectors
from stages.vectors import seen_tokens
from workers.broker import FIRST, PRIORITIES

log = structlog.get_logger("ragq.batcher")

#: Passes of indexing wait at most so long, each, for work in this process that somebody waits for.
_LONGEST_PAUSE_S = 0.25
_LOOK_S = 0.01

# What a stage waits for a model that loads, or works for others, is no work of its own.


_CURRENT: Final[ContextVar[list[float] | None]] = ContextVar("waited", default=None)


@contextmanager
def waiting() -> Iterator[list[float]]:
    """Collects the seconds that this task, and those it starts, wait until the end of the block; for a block around it
    too."""
    found: list[float] = []
    token = _CURRENT.set(found)
    try:
        yield found
    finally:
        _CURRENT.reset(token)
        note_wait(sum(found))


def note_wait(seconds: float) -> None:
    current = _CURRENT.get()
    if current is not None:
        current.append(seconds)


@dataclass(eq=False, kw_only=True)
class _Request:
    texts: list[str]
    truncate: bool
    future: "asyncio.Future[TextVectors]"
    cut: tuple[int, ...] = ()
    """The positions of texts that the encoder does not see whole."""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    encoded_from: float | None = None
    """When the model began to work on it, by the clock of the loop; None before that."""

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for the texts any more."""
        return self.future.done()


class Batcher:
    """An encoder behind a queue, on its own thread. Created and used on one event loop."""

    def __init__(
        self,
        encoder: TextEncoder,
        *,
        window_s: float = 0.003,
        token_budget: int,
        is_crowded: Callable[[], bool] = lambda: False,
        is_awaited: Callable[[], bool] = lambda: False,
    ) -> None:
        """`token_budget` bounds one pass: texts times the length of the longest. A single longer text goes alone, and
        passes of indexing have a half of it.

        `is_crowded` returns whether other tasks are in flight, whose texts are worth `window_s` seconds of waiting.
        `is_awaited` returns whether a stage of work that comes first is in flight. Between two passes of indexing, the
        cores are left to it for a quarter of a second at most.
        """
        self.encoder = encoder
        self._window_s = window_s
        self._token_budget = token_budget
        self._is_crowded = is_crowded
        self._is_awaited = is_awaited
        self._waiting: dict[int, deque[_Request]] = {priority: deque() for priority in PRIORITIES}
        self._finished = 0
        self._arrival = asyncio.Event()
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="encoder")
        self._drain = asyncio.get_running_loop().create_task(self._serve())

    async def encode(
        self, texts: Sequence[str], *, timeout_s: float | None = None, truncate: bool = True, priority: int = FIRST
    ) -> TextVectors:
        """One row per text, in order. Raises what the encoder raises for these texts alone, and without `truncate`
        TextTooLongError for a text that the model does not see whole, before any pass.

        Texts of a lower `priority` are computed first, and wait for no more than the pass that runs. `timeout_s` bounds
        the work on these texts and their neighbours in the passes, and not the waiting for others before them as long
        as that gets on: TimeoutError is raised when nothing is finished for so long. Of a request that timed out no
        further pass is computed; the one that runs ends by itself.
        """
        if not texts:
            return TextVectors(np.zeros((0, 0), dtype=np.float32))
        clock = asyncio.get_running_loop().time
        asked = clock()
        request = _Request(texts=list(texts), truncate=truncate, future=asyncio.get_running_loop().create_future())
        self._waiting[priority].append(request)
        self._arrival.set()
        try:
            await self._turn(request, timeout_s)
            async with asyncio.timeout(timeout_s):
                return await request.future
        finally:
            # Whoever gave up is not worked for.
            request.future.cancel()
            note_wait((request.encoded_from or clock()) - asked)

    async def close(self) -> None:
        """End the queue; requests that still wait are cancelled."""
        self._drain.cancel()
        for request in (waiting for queue in self._waiting.values() for waiting in queue):
            request.future.cancel()
            request.begun.set()
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _turn(self, request: _Request, timeout_s: float | None) -> None:
        while not request.begun.is_set():
            finished = self._finished
            try:
                async with asyncio.timeout(timeout_s):
                    await request.begun.wait()
            except TimeoutError:
                if self._finished == finished:
                    raise

    async def _serve(self) -> None:
        while True:
            await self._arrival.wait()
            if self._is_crowded():
                await asyncio.sleep(self._window_s)
            self._arrival.clear()
            while await self._answer_first(PRIORITIES):
                pass

    async def _answer_first(self, priorities: Sequence[int]) -> bool:
        """Answer the requests of the first of these priorities that has any. Whether one has."""
        for priority in priorities:
            if requests := self._next(priority):
                await self._answer(requests, priority)
                return True
        return False

    def _next(self, priority: int) -> list[_Request]:
        waiting = self._waiting[priority]
        # They are sorted by length and encoded together. More would make the first of them wait for the last.
        most = _at_once(128, priority)
        taken: list[_Request] = []
        texts = 0
        while waiting and (not taken or texts + len(waiting[0].texts) <= most):
            request = waiting.popleft()
            if not request.is_over:
                request.begun.set()
                taken.append(request)
                texts += len(request.texts)
        return taken

    async def _answer(self, requests: list[_Request], priority: int) -> None:
        try:
            await self._compute(requests, priority)
        except Exception as error:  # noqa: BLE001  (whatever the model raises belongs to the request that caused it)
            if len(requests) == 1:
                if not requests[0].is_over:
                    requests[0].future.set_exception(error)
                return
            for request in requests:
                await self._answer([request], priority)

    async def _compute(self, requests: Sequence[_Request], priority: int) -> None:
        loop = asyncio.get_running_loop()
        texts = [text for request in requests for text in request.texts]
        owners = [request for request in requests for _ in request.texts]
        whole, limit = await loop.run_in_executor(
            self._executor, lambda: (self.encoder.count_whole_tokens(texts), self.encoder.max_tokens)
        )
        for request in requests:
            if request.encoded_from is None:
                request.encoded_from = loop.time()
            tokens = [count for count, owner in zip(whole, owners, strict=True) if owner is request]
            request.cut = tuple(at for at, count in enumerate(tokens) if limit is not None and count > limit)
            if request.cut and not request.truncate and not request.is_over:
                first = request.cut[0]
                texts_in, chars, name = len(tokens), len(request.texts[first]), self.encoder.name
                error = TextTooLongError(name, first, texts=texts_in, chars=chars, tokens=tokens[first], limit=limit)
                request.future.set_exception(error)
        rows: dict[int, np.ndarray] = {}
        for batch in passes(seen_tokens(whole, limit), _at_once(self._token_budget, priority)):
            await self._give_way(PRIORITIES[: PRIORITIES.index(priority)])
            wanted = [at for at in batch if not owners[at].is_over]
            if not wanted:
                continue
            encoded = await loop.run_in_executor(self._executor, self.encoder.encode, [texts[at] for at in wanted])
            self._finished += 1
            rows.update(zip(wanted, encoded, strict=True))
        log.info("texts_encoded", requests=len(requests), texts=len(texts))
        for request in requests:
            if not request.is_over:
                own = np.stack([rows[at] for at, owner in enumerate(owners) if owner is request])
                request.future.set_result(TextVectors(own, request.cut))

    async def _give_way(self, priorities: Sequence[int]) -> None:
        clock = asyncio.get_running_loop().time
        until = clock() + _LONGEST_PAUSE_S
        # What is in flight changes without an event.
        while await self._answer_first(priorities) or (  # noqa: ASYNC110
            priorities and self._is_awaited() and clock() < until
        ):
            await asyncio.sleep(_LOOK_S)


def _at_once(most: int, priority: int) -> int:
    """Half as many texts or tokens where others may come first and wait for them."""
    return most if priority == FIRST else max(1, most // 2)


def passes(tokens: Sequence[int], token_budget: int) -> Iterator[list[int]]:
    """The positions of texts, short ones first, in passes of one text or at most `token_budget` tokens with padding."""
    batch: list[int] = []
    for at in sorted(range(len(tokens)), key=tokens.__getitem__):
        if batch and tokens[at] * (len(batch) + 1) > token_budget:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


async def _of_loaded(read: Callable[[], str]) -> str:
    asked = time.monotonic()
    try:
        return await asyncio.to_thread(read)
    finally:
        note_wait(time.monotonic() - asked)


class BatchedEmbedder:
    """The port Embedder over an encoder in this process."""

    def __init__(self, batcher: Batcher, *, priority: int = FIRST) -> None:
        self.name = batcher.encoder.name
        self._batcher = batcher
        self._priority = priority

    def at(self, priority: int) -> "BatchedEmbedder":
        return BatchedEmbedder(self._batcher, priority=priority)

    async def digest(self) -> str:
        return await _of_loaded(lambda: self._batcher.encoder.digest)

    async def dtype(self) -> str:
        return await _of_loaded(lambda: self._batcher.encoder.dtype)

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        try:
            return await self._batcher.encode(texts, timeout_s=timeout_s, truncate=truncate, priority=self._priority)
        except TimeoutError:
            raise LLMTimeoutError(timeout_s) from None
