"""Stage `chunk`: a transcript in windows."""

from schemas.errors import EmptyTranscriptError
from schemas.values.references import Chunk, ChunkedTranscript
from stages.participants.chunking import chunk_transcript
from stages.participants.hashes import short_hash
from workers.frame import Result, Work
from workers.stage_task import define_stage


async def chunk_of_index(work: Work) -> Result:
    """The windows of the transcript; a transcript without any fails the job, and with it the index."""
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
    return Result(ChunkedTranscript(chunks=tuple(Chunk(text=text, chunk_hash=short_hash(text)) for text in texts)))


define_stage("chunk", index=chunk_of_index)
