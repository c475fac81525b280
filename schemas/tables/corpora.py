"""Corpora: works, their chunks, and what the chunks are found by.

A table has the columns of the value that is read from it; of the two configurations of its class, SQLModel's counts.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, Integer, UniqueConstraint
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlmodel import Field

from schemas.full_text import ENGLISH
from schemas.tables import columns
from schemas.values.documents import Bibliography, StoredCorpus, WorkLines


class CorpusTable(StoredCorpus, columns.Row, table=True):  # type: ignore[misc]
    """A set of works that is searched together, and the model that its chunks are embedded by."""

    __table_args__ = (UniqueConstraint("copy_of_id"),)

    id: int = columns.serial()
    name: str = Field(unique=True)
    copy_of_id: int | None = columns.reference("corpus.id", deleted="SET NULL")
    has_old_vectors: bool = Field(sa_column_kwargs={"server_default": "false"})
    model_dtypes: list[str] = columns.array(default="{}")
    chunk_tokens: int = Field(sa_column_kwargs={"server_default": "0"})
    language: str | None = columns.text(ENGLISH)
    full_text: str | None = columns.text(ENGLISH)
    created_at: datetime = columns.now()


class WorkTable(Bibliography, columns.Row, table=True):  # type: ignore[misc]
    """A document. Its markdown is kept as it was imported: every line number means a line of it."""

    __tablename__ = "works"
    __table_args__ = (
        Index("ux_works_content_hash", "corpus_id", "content_hash", unique=True),
        Index("ix_works_source_path", "corpus_id", "source_path"),
    )

    id: int = columns.serial()
    corpus_id: int = columns.reference("corpus.id")
    source_path: str
    """Where it was imported from; importing that path again replaces the work."""
    markdown: str = columns.text()
    content_hash: str
    """SHA-256 of the markdown, checked whenever lines are read again."""
    original_hash: str | None
    """The file that it was converted from; None for a work that was imported as markdown."""
    job_id: int | None = columns.reference("job.id", deleted="SET NULL", index=True)
    """The document that cut it last; None for a work that went through no stages."""
    page_lines: list[int] = columns.array(Integer, "{}")
    """The line at which each page begins; empty for a work without pages."""
    created_at: datetime = columns.now()
    updated_at: datetime = columns.now()


class OriginalTable(columns.Row, table=True):
    """A file that works were converted from."""

    hash: str = Field(primary_key=True)
    """SHA-256 of its bytes."""
    content: bytes


class ChunkTable(WorkLines, columns.Row, table=True):  # type: ignore[misc]
    """A section of a work under one heading, or a piece of its content."""

    __tablename__ = "chunks"
    __table_args__ = (
        Index("ix_chunks_content_tsvector", "content_tsvector", postgresql_using="gin"),
        Index("ix_chunks_work_id_start_line", "work_id", "start_line"),
    )

    id: int = columns.serial()
    work_id: int = columns.reference("works.id")
    parent_id: int | None = columns.reference("chunks.id", index=True)
    vector_status: str = Field(index=True)
    tokens: int | None
    """What is embedded of it, as the embedder counts; None for what is not embedded, and where that is not known."""
    content_tsvector: Any = Field(sa_type=TSVECTOR, nullable=True)
    """Of content alone: a heading chunk is never searched, and a whole book is too long for it. A trigger sets it, by
    the configuration of the corpus."""


class ChunkVectorTable(columns.Row, table=True):
    """The vector of a chunk, apart from its text, so that a scan reads vectors only."""

    chunk_id: int = columns.reference("chunks.id", primary_key=True)
    corpus_id: int = Field(index=True)
    vector: Any = columns.vector()


class PostingSegmentTable(columns.Row, table=True):
    """Chunks whose postings are stored together: those of a batch, or of several that were merged.

    The columns of bytes are big-endian numbers, one per chunk.
    """

    __table_args__ = (Index("ix_posting_segment_corpus_id", "corpus_id"),)

    id: int = columns.serial()
    corpus_id: int = columns.reference("corpus.id")
    chunks: int
    live: int
    """Chunks of it that can be found; the others were withdrawn."""
    first_chunk_id: int = columns.long()
    last_chunk_id: int = columns.long()
    chunk_ids: bytes
    """Of 8 bytes each."""
    lengths: bytes
    """Terms of each chunk, with repetitions, in 4 bytes; -1 for a chunk that was withdrawn."""
    buckets: int
    """Rows that its terms are spread over."""


class PostingTable(columns.Row, table=True):
    """How often some terms occur in the chunks of a segment: what BM25 is computed from."""

    segment_id: int = columns.reference("posting_segment.id", primary_key=True)
    bucket: int = Field(primary_key=True)
    """The CRC-32 of each of its terms, modulo the number of buckets."""
    terms: list[str] = columns.array()
    ends: list[int] = columns.array(Integer)
    """For each term the number of postings of the row up to and with its own."""
    places: bytes
    """For each posting the place of its chunk in the segment, in 2 bytes."""
    frequencies: bytes
    """For each posting how often the term occurs, less one, in 1 byte."""
