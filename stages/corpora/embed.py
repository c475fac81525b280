"""Stage `embed` of a corpus: embeds a batch of chunks."""

from collections.abc import Sequence

import numpy as np

from schemas.values.corpora import CorpusChunk
from stages.ports import Embedder, TextVectors
from stages.vectors import unit_rows


def embedded_text(chunk: CorpusChunk, *, embeds_headings: bool) -> str:
    """The text that is embedded for a chunk: its content, below the path of headings if the corpus embeds headings.

    >>> from schemas.values.corpora import CorpusChunk
    >>> chunk = CorpusChunk(id=1, work_id=1, parent_id=None, level="H2-chunk", content="Steep it.",
    ...                     heading_breadcrumbs="Tea > Brewing", start_line=3, end_line=3)
    >>> embedded_text(chunk, embeds_headings=True)
    'Tea > Brewing\\nSteep it.'
    """
    if not (embeds_headings and chunk.heading_breadcrumbs):
        return chunk.content
    return f"{chunk.heading_breadcrumbs}\n{chunk.content}"


async def embed_chunks(
    chunks: Sequence[CorpusChunk], *, embedder: Embedder, dimension: int, embeds_headings: bool, timeout_s: float
) -> TextVectors:
    """One row of length 1 per chunk, in one call; none without chunks. Raises as `unit_rows` and the embedder do.

    Chunks are often longer than an embedder reads: these are cut, and named.
    """
    if not chunks:
        return TextVectors(np.empty((0, dimension), dtype=np.float32))
    texts = [embedded_text(chunk, embeds_headings=embeds_headings) for chunk in chunks]
    found = await embedder.embed_batch(texts, timeout_s=timeout_s, truncate=True)
    return found._replace(vectors=unit_rows(found.vectors, rows=len(texts), dimension=dimension))
