"""Stage `embed` of a transcript: its windows in one call."""

from schemas.values.references import ChunkedTranscript, EmbeddedChunks
from stages.participants.embed import embed_chunks
from workers.work import Result, Work


async def run(work: Work) -> Result[EmbeddedChunks]:
    """The windows of one transcript; any bad vector fails the job."""
    settings = work.settings.embedding
    embedder = work.reusing_embedder(settings.dimension)
    embedded, vectors = await embed_chunks(
        [chunk.text for chunk in (await work.output(ChunkedTranscript)).chunks],
        embedder=embedder,
        dimension=settings.dimension,
        timeout_s=settings.query_embed_timeout_seconds,
        truncate=work.settings.ragq.long_texts == "truncate",
    )
    return Result(embedded, vectors, texts=embedder.texts)
