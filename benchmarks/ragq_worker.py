"""ragq's worker with one more kind of job, `noop`, whose stages do nothing: `celery -A benchmarks.ragq_worker`."""

from benchmarks.noop_chain import NOOP_STAGES
from benchmarks.stamps import stamp
from schemas.values.base import Value
from workers.functions import FUNCTIONS
from workers.main import app
from workers.work import Result, Work

__all__ = ["app"]


class Nothing(Value):
    """What a stage stores that does nothing."""


async def _noop(work: Work) -> Result[Nothing]:
    stamp(work.claim.job_id, NOOP_STAGES.index(work.claim.stage))
    return Result(Nothing())


for _stage in NOOP_STAGES:
    FUNCTIONS["noop", "noop", _stage] = _noop
