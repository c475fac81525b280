"""ragq's worker with one more kind of job, `nap`: its stage sleeps until its worker is killed, and then is awake.

Run as `celery -A benchmarks.napping_worker`.
"""

import asyncio

from benchmarks.noop_chain import NOOP_STAGES
from schemas.values.base import Value
from workers.functions import FUNCTIONS
from workers.main import app
from workers.work import Result, Work

__all__ = ["app"]

_LONGER_THAN_ANY_KILL_S = 600.0


class Awake(Value):
    """What a stage stores that slept."""


async def _nap(work: Work) -> Result[Awake]:
    if work.claim.attempt == 1:
        await asyncio.sleep(_LONGER_THAN_ANY_KILL_S)
    return Result(Awake())


FUNCTIONS["nap", "nap", NOOP_STAGES[0]] = _nap
