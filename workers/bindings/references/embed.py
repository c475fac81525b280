"""Stage `embed` of a transcript: its windows in one call."""

from schemas.values.participants import ExtractedEvidence
from schemas.values.references import ChunkedTranscript, EmbeddedChunks
from stages.participants.embed import embed_chunks, embedded_texts
from workers.work import Result, Work


async def run(work: Work) -> Result[EmbeddedChunks]:
    """The windows of one transcript, and its evidence if it was extracted; any bad vector fails the job."""
    settings = work.settings.embedding
    embedder = work.reusing_embedder(settings.dimension)
    extracted = await work.output_if_stored(ExtractedEvidence)
    embedded, vectors = await embed_chunks(
        [chunk.text for chunk in (await work.output(ChunkedTranscript)).chunks],
        {} if extracted is None else embedded_texts(extracted, min_chars=settings.min_evidence_chars),
        embedder=embedder,
        dimension=settings.dimension,
        timeout_s=settings.query_embed_timeout_seconds,
        truncate=work.settings.ragq.long_texts == "truncate",
    )
    return Result(embedded, vectors, texts=embedder.texts)
