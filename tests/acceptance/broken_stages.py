"""Stages that fail or hang, as TEST_BREAKS says, where a worker includes this module."""

import ctypes
import os
import time
from functools import partial
from typing import Any, NoReturn

from workers.process import FUNCTIONS
from workers.queries import question
from workers.work import StageFunction, Work

EXTRACT = [("participant", mode, "extract") for mode in ("few_shot", "zero_shot")]


async def quote_transcript(function: StageFunction, work: Work) -> NoReturn:
    """Raise an exception with the whole transcript in its message, as a careless library might."""
    raise RuntimeError(f"cannot parse: {await work.transcript()}")


async def quote_question(function: StageFunction, work: Work) -> NoReturn:
    raise RuntimeError(f"cannot embed: {(await question(work)).original_query}")


async def fail_second_batch(function: StageFunction, work: Work) -> Any:
    if work.claim.subject == "2":
        raise RuntimeError("cannot embed this")
    return await function(work)


async def hold_lock(function: StageFunction, work: Work) -> Any:
    """In the first attempt, sleep in C with the interpreter's lock, as a computation in C does: no thread runs."""
    if work.claim.attempt == 1:
        ctypes.PyDLL(None).sleep(int(os.environ["TEST_HOLD_SECONDS"]))
    return await function(work)


async def hold_loop(function: StageFunction, work: Work) -> Any:
    if work.claim.attempt == 1:
        time.sleep(int(os.environ["TEST_HOLD_SECONDS"]))  # noqa: ASYNC251  (it blocks on purpose)
    return await function(work)


BREAKS: dict[str, tuple[Any, list[tuple[str, str, str]]]] = {
    "transcripts": (quote_transcript, EXTRACT),
    "questions": (quote_question, [("query", "answer", "embed")]),
    "second batch": (fail_second_batch, [("index", "corpus", "embed")]),
    "lock": (hold_lock, EXTRACT),
    "loop": (hold_loop, EXTRACT),
}
broken, places = BREAKS[os.environ["TEST_BREAKS"]]
for place in places:
    FUNCTIONS[place] = partial(broken, FUNCTIONS[place])
