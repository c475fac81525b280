"""Stage `embed` of a transcript: its windows in one call."""

from schemas.values.references import ChunkedTranscript, EmbeddedChunks
from stages.vectors import unit_rows
from workers.work import Result, Work


async def run(work: Work) -> Result[EmbeddedChunks]:
    """The windows of one transcript; any bad vector fails the job."""
    settings = work.settings.embedding
    texts = [chunk.text for chunk in (await work.output(ChunkedTranscript)).chunks]
    matrix = await work.embedder.embed_batch(texts, timeout_s=settings.query_embed_timeout_seconds)
    vectors = unit_rows(matrix, rows=len(texts), dimension=settings.dimension)
    digest = await work.embedder.digest()
    return Result(
        EmbeddedChunks(
            model=work.embedder.name, model_digest=digest, dimension=settings.dimension, vectors=len(vectors)
        ),
        vectors,
    )
