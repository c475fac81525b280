"""Stage `embed` of a corpus with token vectors: one vector per token of a chunk, for late interaction."""

from collections.abc import Sequence

from schemas.values.corpora import CorpusChunk
from stages.corpora.embed import embedded_text
from stages.ports import TokenEmbedder, Vectors
from stages.vectors import unit_rows


async def embed_tokens(
    texts: Sequence[str], *, embedder: TokenEmbedder, dimension: int, timeout_s: float
) -> list[Vectors]:
    """For each text, in order, one row of length 1 per token. Raises as `unit_rows` and the embedder do."""
    matrices = await embedder.embed_tokens(texts, timeout_s=timeout_s)
    return [unit_rows(matrix, rows=len(matrix), dimension=dimension) for matrix in matrices]


async def embed_chunk_tokens(
    chunks: Sequence[CorpusChunk], *, embedder: TokenEmbedder, dimension: int, embeds_headings: bool, timeout_s: float
) -> list[Vectors]:
    """The token vectors of each chunk, for its `embedded_text`."""
    texts = [embedded_text(chunk, embeds_headings=embeds_headings) for chunk in chunks]
    return await embed_tokens(texts, embedder=embedder, dimension=dimension, timeout_s=timeout_s)
