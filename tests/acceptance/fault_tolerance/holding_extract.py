"""An `extract` that first blocks its process for TEST_HOLD_SECONDS: every thread, or the event loop alone."""

import ctypes
import os
import time
from functools import partial
from typing import Any

from workers.process import FUNCTIONS
from workers.work import StageFunction, Work


def hold() -> None:
    """By a sleep in C that keeps the interpreter's lock, as a computation in C does, or by one that does not."""
    seconds = float(os.environ["TEST_HOLD_SECONDS"])
    if os.environ.get("TEST_HOLD") == "loop":
        time.sleep(seconds)
    else:
        ctypes.PyDLL(None).sleep(int(seconds))


async def held(function: StageFunction, work: Work) -> Any:
    """The stage, after its first attempt kept the lock."""
    if work.claim.attempt == 1:
        hold()
    return await function(work)


for mode in ("few_shot", "zero_shot"):
    FUNCTIONS["participant", mode, "extract"] = partial(held, FUNCTIONS["participant", mode, "extract"])
