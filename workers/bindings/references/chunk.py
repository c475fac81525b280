"""Stage `chunk` of a transcript: its windows, each tagged with the items it speaks of where that is asked for."""

from schemas.errors import EmptyTranscriptError
from schemas.values.references import Chunk, ChunkedTranscript
from stages.participants.chunking import chunk_transcript
from stages.participants.item_tags import tag_chunk
from stages.texts.hashes import short_hash
from workers.work import Result, Work


async def run(work: Work) -> Result[ChunkedTranscript]:
    """The windows of the transcript; a transcript without any fails the job."""
    settings = work.settings.embedding
    texts = chunk_transcript(
        (await work.transcript()).text,
        size=settings.chunk_size,
        step=settings.chunk_step,
        min_chars=settings.min_evidence_chars,
    )
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
