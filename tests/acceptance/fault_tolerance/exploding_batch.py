"""An `embed` that fails for the second batch of a corpus."""

from schemas.values.documents import EmbeddedBatch
from workers.documents import corpus_embed
from workers.process import FUNCTIONS
from workers.work import Result, Work


async def explode(work: Work) -> Result[EmbeddedBatch]:
    """Raise an exception for one batch as a careless library might."""
    if work.claim.subject == "2":
        raise RuntimeError("cannot embed this")
    return await corpus_embed(work)


FUNCTIONS["index", "corpus", "embed"] = explode
