"""The stages of a job that indexes a transcript."""

from schemas.errors import EmptyTranscriptError, InputChangedError
from schemas.values.participants import Chunk, ChunkedTranscript, EmbeddedChunks, ExtractedEvidence, FinishedBatch
from stages.participants.chunking import chunk_transcript, tag_chunk
from stages.participants.embed import embed_chunks, embedded_texts
from stages.participants.extract import extract_by_similarity
from stages.texts.characters import short_hash
from store.database import Connection
from store.references import index_runs
from workers.work import Result, Work


async def run_chunk(work: Work) -> Result[ChunkedTranscript]:
    """The windows of the transcript, with tags where they are asked for; without any window the job fails."""
    settings = work.settings.embedding
    texts = chunk_transcript(await work.transcript(), settings)
    if not texts:
        raise EmptyTranscriptError(
            f"The transcript of participant {work.participant_id} has no chunk of EMBEDDING_MIN_EVIDENCE_CHARS="
            f"{settings.min_evidence_chars} characters; import a fuller one or leave the participant out."
        )
    has_tags: bool = work.claim.inputs["write_item_tags"]
    chunks = tuple(
        Chunk(text=text, chunk_hash=short_hash(text), tags=tag_chunk(text) if has_tags else None) for text in texts
    )
    return Result(ChunkedTranscript(chunks=chunks))


async def run_extract(work: Work) -> Result[ExtractedEvidence]:
    """The utterances nearest to each item, for scores by neighbours, whatever the extractor of the settings."""
    transcript = await work.transcript()
    return Result(await extract_by_similarity(transcript, embedder=work.embedder, settings=work.settings))


async def run_embed(work: Work) -> Result[EmbeddedChunks]:
    """The windows and the evidence of a transcript in one call; any bad vector fails the job."""
    embedder = work.reusing_embedder(work.settings.embedding.dimension)
    extracted = await work.output_if_stored(ExtractedEvidence)
    embedded, vectors = await embed_chunks(
        [chunk.text for chunk in (await work.output(ChunkedTranscript)).chunks],
        {} if extracted is None else embedded_texts(extracted, work.settings.embedding),
        embedder=embedder,
        settings=work.settings,
    )
    return Result(embedded, vectors, texts=embedder.texts)


async def run_publish(work: Work) -> Result[FinishedBatch]:
    """Finish a transcript; the last of a run makes the whole index visible, in the same transaction."""
    run_id = work.claim.run_id
    index = await work.database.ask(index_runs.by_run, run_id)
    if index is None:
        raise InputChangedError(f"Run r{run_id} has no index to publish.")
    embedded = await work.output(EmbeddedChunks)

    async def publish(connection: Connection) -> None:
        await index_runs.publish_when_complete(connection, run_id)

    return Result(FinishedBatch(index_id=index.id, chunks=embedded.vectors), effect=publish)
