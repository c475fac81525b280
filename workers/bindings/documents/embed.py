"""Stage `embed`: the chunks of the work."""

from schemas.values.corpora import EmbeddedBatch
from schemas.values.documents import CutDocument
from workers.bindings.corpora.embed import embed
from workers.work import Result, Work


async def run(work: Work) -> Result[EmbeddedBatch]:
    """As of any batch of a corpus."""
    return await embed(work, (await work.output(CutDocument)).chunk_ids)
