"""ragq's worker whose stages of phrases do nothing: `celery -A benchmarks.noop_tags_worker`."""

from schemas.chains import stages_of
from schemas.values.base import Value
from workers.functions import FUNCTIONS
from workers.main import app
from workers.work import Result, Work

__all__ = ["app"]


class Nothing(Value):
    """What a stage stores that does nothing."""


async def _noop(_work: Work) -> Result[Nothing]:
    return Result(Nothing())


for _stage in stages_of("tags", "candidates"):
    FUNCTIONS["tags", "candidates", _stage] = _noop
