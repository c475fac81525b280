"""A worker whose `extract` raises an exception of somebody else's, with the whole transcript in its words."""

from workers.frame import Result, Work
from workers.main import app
from workers.stage_task import define_stage

__all__ = ["app"]


async def explode(work: Work) -> Result:
    """Raise what a careless library might."""
    raise RuntimeError(f"cannot parse: {(await work.transcript()).text}")


define_stage("extract", participant=explode)
