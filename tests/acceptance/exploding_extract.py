"""An `extract` that raises an exception of somebody else's, with the whole transcript in its words."""

from workers.stage_task import define_stage
from workers.work import Result, Work


async def explode(work: Work) -> Result:
    """Raise what a careless library might."""
    raise RuntimeError(f"cannot parse: {(await work.transcript()).text}")


define_stage("extract", participant=explode)
