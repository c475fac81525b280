"""An `embed` that cannot embed questions, and repeats what was asked."""

from workers.bindings.queries.reading import question
from workers.stage_task import define_stage
from workers.work import Result, Work


async def explode(work: Work) -> Result:
    """Raise what a careless library might."""
    raise RuntimeError(f"cannot embed: {(await question(work)).original_query}")


define_stage("embed", query=explode)
