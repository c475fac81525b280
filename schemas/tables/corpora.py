"""Corpora: works, their chunks, and what the chunks are found by."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index, Integer, UniqueConstraint
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlmodel import Field

from schemas.full_text import ENGLISH
from schemas.tables import columns


class CorpusTable(columns.Row, table=True):
    """A set of works that is searched together, and the model that its chunks are embedded by."""

    id: int = columns.serial()
    name: str = Field(unique=True)
    backend: str
    model: str
    model_digest: str | None
    """None until the first batch is embedded."""
    model_dtypes: list[str] = columns.array(default="{}")
    """The number formats of its vectors, in order of their first batch."""
    dimension: int
    embeds_headings: bool
    """The headings above a chunk are embedded with it."""
    chunk_tokens: int = Field(sa_column_kwargs={"server_default": "0"})
    """The most tokens of a chunk, as the embedder counts them; 0 sizes chunks by words."""
    reads_tokens: int | None
    """The most tokens of a text that the embedder reads; None if that is not known."""
    language: str | None = columns.text(ENGLISH)
    """The language of its works; None until the first one is stored."""
    full_text: str | None = columns.text(ENGLISH)
    """Postgres's text search configuration, by which its chunks and the questions to it are read."""
    searchable_chunks: int
    """Chunks that have a vector and postings; kept with them in one transaction."""
    searchable_terms: int
    """Terms of those chunks, with repetitions: what BM25 takes its mean length from."""
    created_at: datetime = columns.now()


class CorpusCopyTable(columns.Row, table=True):
    """A corpus that has the works of another one, embedded by another model."""

    __table_args__ = (UniqueConstraint("of_id"),)

    corpus_id: int = columns.reference("corpus.id", primary_key=True)
    of_id: int = columns.reference("corpus.id")
    has_old_vectors: bool
    """The other one has taken its vectors."""


class WorkTable(columns.Row, table=True):
    """A document. Its markdown is kept as it was imported: every line number means a line of it."""

    __tablename__ = "works"
    __table_args__ = (
        Index("ux_works_content_hash", "corpus_id", "content_hash", unique=True),
        Index("ix_works_source_path", "corpus_id", "source_path"),
    )

    id: int = columns.serial()
    corpus_id: int = columns.reference("corpus.id")
    title: str = columns.text()
    authors: str | None
    year: int | None
    publisher: str | None
    isbn: str | None
    doi: str | None
    edition: str | None
    volume: str | None
    issue: str | None
    pages: str | None
    url: str | None
    city: str | None
    institution: str | None
    editor: str | None
    abstract: str | None = columns.text()
    work_type: str | None
    tags: str | None
    """With commas between."""
    source_path: str | None
    """Where it was imported from; importing that path again replaces the work."""
    markdown: str = columns.text()
    content_hash: str
    """SHA-256 of the markdown, checked whenever lines are read again."""
    original_hash: str | None
    """The file that it was converted from; None for a work that was imported as markdown."""
    page_lines: list[int] = columns.array(Integer, "{}")
    """The line at which each page begins; empty for a work without pages."""
    created_at: datetime = columns.now()
    updated_at: datetime = columns.now()


class OriginalTable(columns.Row, table=True):
    """A file that works were converted from."""

    hash: str = Field(primary_key=True)
    """SHA-256 of its bytes."""
    content: bytes
    size: int = columns.long()
    """Bytes."""
    created_at: datetime = columns.now()


class ChunkTable(columns.Row, table=True):
    """A section of a work under one heading, or a piece of its content."""

    __tablename__ = "chunks"
    __table_args__ = (
        Index("ix_chunks_content_tsvector", "content_tsvector", postgresql_using="gin"),
        Index("ix_chunks_work_id_start_line", "work_id", "start_line"),
    )

    id: int = columns.serial()
    work_id: int = columns.reference("works.id")
    parent_id: int | None = columns.reference("chunks.id", index=True)
    level: str
    content: str = columns.text()
    heading_breadcrumbs: str | None = columns.text()
    start_line: int
    end_line: int
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
