"""An `embed` that cannot do the second batch of a corpus."""

from workers.bindings.corpora.embed import embed_of_corpus
from workers.stage_task import define_stage
from workers.work import Result, Work


async def explode(work: Work) -> Result:
    """Raise for one batch what a careless library might."""
    if work.claim.subject == "2":
        raise RuntimeError("cannot embed this")
    return await embed_of_corpus(work)


define_stage("embed", index=explode)
