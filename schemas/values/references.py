"""What the stages of an index job store."""

from schemas.values.base import Value


class Chunk(Value):
    """A window of transcript lines."""

    text: str
    chunk_hash: str
    """First 12 hex digits of the SHA-256 of the text."""
    tags: tuple[str, ...] | None
    """Evidence keys of the items that the text speaks of, in alphabetical order; None in an index without tags."""


class ChunkedTranscript(Value):
    """Stage `chunk`: the windows of one transcript, in order."""

    chunks: tuple[Chunk, ...]


class EmbeddedChunks(Value):
    """Stage `embed`: how the windows were embedded. The vectors are stored beside it, one per window, in order."""

    model: str
    model_digest: str
    dimension: int
    vectors: int


class FinishedBatch(Value):
    """Stage `publish`: this transcript, or this chunk, is ready. The last job of the run to get here publishes."""

    index_id: int
    chunks: int
