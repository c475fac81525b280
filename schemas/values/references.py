"""The outputs of the stages of an index job."""

from schemas.values.base import Value


class Chunk(Value):
    """A window of transcript lines."""

    text: str
    chunk_hash: str
    """First 12 hex digits of the SHA-256 of the text."""
    tags: tuple[str, ...] | None
    """Evidence keys of the items that the text mentions, in alphabetical order; None in an index without tags."""


class ChunkedTranscript(Value):
    """Stage `chunk`: the windows of one transcript, in order."""

    chunks: tuple[Chunk, ...]


class EmbeddedChunks(Value):
    """Stage `embed`: the embedding of the windows. The vectors are stored separately, one per window, in order."""

    model: str
    model_digest: str
    dimension: int
    vectors: int
    cut_texts: int = 0
    """Windows, and evidence, that are longer than the embedder reads, and were cut."""
    cut: tuple[int, ...] = ()
    """The positions of these windows, from 0."""
    dtype: str = ""
    """The number format that the embedder computed in; empty if its server reports none."""
    reused_texts: int = 0
    """Texts whose vectors were stored before, and were not computed again."""
    evidence: tuple[str, ...] = ()
    """Evidence keys of the items whose evidence was embedded; their vectors follow those of the windows, in order."""


class FinishedBatch(Value):
    """Stage `publish`: this transcript, or this chunk, is ready. The last job of the run publishes the index."""

    index_id: int
    chunks: int
