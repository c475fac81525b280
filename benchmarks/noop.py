"""ragq's worker whose stages do nothing, of jobs `noop` and of phrases: `python -m benchmarks.noop worker`."""

from benchmarks.common import NOOP_STAGES
from benchmarks.stamps import stamp
from schemas.chains import stages_of
from schemas.values.base import Value
from workers.main import app, main
from workers.process import FUNCTIONS
from workers.work import Result, Work

__all__ = ["app"]


class Nothing(Value):
    """What a stage stores that does nothing."""


async def _stamped(work: Work) -> Result[Nothing]:
    stamp(work.claim.job_id, NOOP_STAGES.index(work.claim.stage))
    return Result(Nothing())


async def _nothing(_work: Work) -> Result[Nothing]:
    return Result(Nothing())


FUNCTIONS.update({("noop", "noop", stage): _stamped for stage in NOOP_STAGES})
FUNCTIONS.update({("tags", "candidates", stage): _nothing for stage in stages_of("tags", "candidates")})


if __name__ == "__main__":
    main()
