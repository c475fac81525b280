"""The texts of many tasks share passes, and every task gets its own rows or its own error."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import numpy as np
import pytest

from schemas.errors import EmbeddingValidationError, LLMTimeoutError, TextTooLongError
from stages.ports import TextVectors, Vectors
from tests.fakes.encoder import FakeEncoder
from workers.batcher import BatchedEmbedder, Batcher, waiting
from workers.broker import BACKGROUND

POISON = "poison"


class SlowEncoder(FakeEncoder):
    """A slow encoder that fails for one text."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.threads: set[str] = set()

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.threads.add(threading.current_thread().name)
        time.sleep(self.seconds)
        rows = super().encode(texts)
        if POISON in texts:
            raise ValueError("cannot encode this")
        return rows


MakeBatcher = Callable[..., tuple[SlowEncoder, Batcher]]


@pytest.fixture
async def batcher() -> AsyncIterator[MakeBatcher]:
    made: list[Batcher] = []

    def make(seconds: float = 0.02, **options: Any) -> tuple[SlowEncoder, Batcher]:
        encoder = SlowEncoder(seconds)
        made.append(Batcher(encoder, **{"window_s": 0.01, "token_budget": 4096} | options))
        return encoder, made[-1]

    yield make
    for one in made:
        await one.close()


async def rows(batcher: Batcher, texts: Sequence[str]) -> Vectors:
    return (await batcher.encode(texts)).vectors


async def asked(batcher: Batcher, *texts: str, **options: Any) -> "asyncio.Task[TextVectors]":
    """A request that the model is at, or that waits for another."""
    task = asyncio.create_task(batcher.encode(texts, **options))
    await asyncio.sleep(0.01)
    return task


async def test_concurrent_requests_share_passes_on_one_thread_and_keep_their_rows(batcher: MakeBatcher) -> None:
    encoder, shared = batcher()
    requests = [[f"text {number}", f"other {number}"] for number in range(20)]

    matrices = await asyncio.gather(*(rows(shared, texts) for texts in requests))

    assert len(encoder.passes) <= 2
    await shared.encode(["later"])
    assert (len(encoder.threads), threading.current_thread().name in encoder.threads) == (1, False)
    for texts, matrix in zip(requests, matrices, strict=True):
        np.testing.assert_array_equal(matrix, FakeEncoder().encode(texts))


async def test_waiting_for_others_is_no_work(batcher: MakeBatcher) -> None:
    _, shared = batcher(0.3, window_s=0)

    async def waits_s(text: str) -> float:
        with waiting() as found:
            await shared.encode([text])
        return sum(found)

    first = asyncio.create_task(waits_s("first"))
    await asyncio.sleep(0.05)
    second = asyncio.create_task(waits_s("second"))

    assert await first < 0.15 < await second


async def test_a_request_among_others_waits_to_share_a_pass(batcher: MakeBatcher) -> None:
    encoder, crowded = batcher(0, is_crowded=lambda: True)

    async def late() -> Vectors:
        await asyncio.sleep(0.005)
        return await rows(crowded, ["late"])

    await asyncio.gather(crowded.encode(["early"]), late())

    assert encoder.passes == [("early", "late")]


async def test_passes_are_sorted_by_length_and_stay_within_the_token_budget(batcher: MakeBatcher) -> None:
    encoder, shared = batcher(0, token_budget=10)
    texts = ["a " * 5, "b", "c " * 9, "d " * 2, "e " * 4]

    matrix = await rows(shared, texts)

    # With padding: 2 x 2, 2 x 5, 1 x 9.
    assert encoder.passes == [("b", "d " * 2), ("e " * 4, "a " * 5), ("c " * 9,)]
    np.testing.assert_array_equal(matrix, FakeEncoder().encode(texts))

    # Half of it for an import.
    await shared.encode(["chunk"] * 10, priority=BACKGROUND)
    assert list(map(len, encoder.passes[3:])) == [5, 5]


async def test_a_cancelled_request_does_not_affect_the_others(batcher: MakeBatcher) -> None:
    _, shared = batcher(0.1)

    kept = asyncio.create_task(rows(shared, ["kept"]))
    with pytest.raises(LLMTimeoutError, match=r"timed out after 0\.02s"):
        await BatchedEmbedder(shared).embed_batch(["given up"], timeout_s=0.02, truncate=True)

    np.testing.assert_array_equal(await kept, FakeEncoder().encode(["kept"]))
    np.testing.assert_array_equal(await rows(shared, ["later"]), FakeEncoder().encode(["later"]))


async def test_a_model_that_loses_a_row_is_detected(batcher: MakeBatcher, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, shared = batcher()
    monkeypatch.setattr(encoder, "encode", lambda texts: FakeEncoder().encode(texts)[1:])

    with pytest.raises((ValueError, EmbeddingValidationError)):
        await BatchedEmbedder(shared).embed_batch(["one", "two"], timeout_s=5, truncate=True)


async def test_waiting_for_others_does_not_count_while_they_make_progress(batcher: MakeBatcher) -> None:
    _, shared = batcher(0.05, token_budget=64)
    texts = [f"text {number}" for number in range(64)]

    requests = (BatchedEmbedder(shared).embed_batch(texts, timeout_s=1, truncate=True) for _ in range(20))

    assert [len(embedded.vectors) for embedded in await asyncio.gather(*requests)] == [64] * 20


async def test_requests_that_still_wait_at_the_end_are_cancelled(batcher: MakeBatcher) -> None:
    _, shared = batcher(0.2)
    first, waiting = await asked(shared, "keeps the model busy"), await asked(shared, "waits")

    await shared.close()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, timeout=60)
    first.cancel()


async def test_one_request_of_several_that_timed_out_does_not_hold_its_neighbours(batcher: MakeBatcher) -> None:
    encoder, shared = batcher(0.05, token_budget=1)
    first = await asked(shared, "first")
    hasty = asyncio.create_task(shared.encode([f"hasty{number}" for number in range(40)], timeout_s=0.2))
    patient = asyncio.create_task(shared.encode(["z patient"], timeout_s=5))

    with pytest.raises(TimeoutError):
        await hasty

    assert len((await patient).vectors) == 1
    await first
    assert sum(text.startswith("hasty") for texts in encoder.passes for text in texts) < 10


async def test_a_bad_text_and_one_that_is_too_long_fail_their_own_requests_alone(batcher: MakeBatcher) -> None:
    encoder, shared = batcher()
    encoder.max_tokens = 3
    first = await asked(shared, "keeps the model busy")

    requests = [
        shared.encode(["good"], truncate=False),
        shared.encode([POISON]),
        shared.encode(["fine", "far too long to be read"], truncate=False),
        shared.encode(["cut as it is requested"]),
        shared.encode(["fine"]),
    ]
    good, bad, too_long, cut, fine = await asyncio.gather(*requests, return_exceptions=True)

    await first
    assert (type(bad), type(too_long)) == (ValueError, TextTooLongError)
    assert "far too long to be read" not in [text for texts in encoder.passes for text in texts]
    assert isinstance(good, TextVectors) and isinstance(cut, TextVectors) and isinstance(fine, TextVectors)
    assert (good.cut, cut.cut) == ((), (0,))
    np.testing.assert_array_equal(fine.vectors, FakeEncoder().encode(["fine"]))


async def test_a_question_waits_for_one_pass_of_an_import(batcher: MakeBatcher) -> None:
    encoder, shared = batcher(0.05, token_budget=2)
    imports = [asyncio.create_task(shared.encode([f"chunk {n}"] * 12, priority=BACKGROUND)) for n in range(3)]
    await asyncio.sleep(0.12)

    embedded = await shared.encode(["question"])

    begun = [texts[0] for texts in encoder.passes].index("question")
    assert (len(embedded.vectors), begun <= 4, any(task.done() for task in imports)) == (1, True, False)
    assert [len((await task).vectors) for task in imports] == [12] * 3
    assert sum(texts == ("question",) for texts in encoder.passes) == 1


async def test_questions_that_waited_go_before_an_import_that_came_first(batcher: MakeBatcher) -> None:
    encoder, shared = batcher(0.05)
    busy, chunk = await asked(shared, "keeps the model busy"), await asked(shared, "chunk", priority=BACKGROUND)

    await asyncio.gather(busy, chunk, shared.encode(["question"]))

    assert encoder.passes == [("keeps the model busy",), ("question",), ("chunk",)]


async def test_an_import_leaves_the_cores_to_a_question_until_it_is_answered(
    batcher: MakeBatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.batcher._LONGEST_PAUSE_S", 60.0)
    questions = 1
    encoder, shared = batcher(0, is_awaited=lambda: questions > 0)
    chunk = await asked(shared, "chunk", priority=BACKGROUND)

    await rows(shared, ["question"])
    await asyncio.sleep(0.05)
    assert encoder.passes == [("question",)]
    questions = 0
    await chunk

    assert encoder.passes == [("question",), ("chunk",)]


async def test_an_import_continues_among_questions_without_an_end(batcher: MakeBatcher) -> None:
    _, shared = batcher(0, is_awaited=lambda: True)

    async with asyncio.timeout(10):
        await shared.encode(["chunk"], priority=BACKGROUND)
