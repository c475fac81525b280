"""An `embed` that fails for the second batch of a corpus."""

from schemas.values.corpora import EmbeddedBatch
from workers.bindings.corpora import embed
from workers.functions import FUNCTIONS
from workers.work import Result, Work


async def explode(work: Work) -> Result[EmbeddedBatch]:
    """Raise an exception for one batch as a careless library might."""
    if work.claim.subject == "2":
        raise RuntimeError("cannot embed this")
    return await embed.run(work)


FUNCTIONS["index", "corpus", "embed"] = explode
