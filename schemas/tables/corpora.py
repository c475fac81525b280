"""Corpora: works, their chunks, and what the chunks are found by."""

from datetime import datetime
from typing import Any

from pgvector.sqlalchemy import VECTOR
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Text,
)
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlmodel import Field, SQLModel

from schemas.full_text import ENGLISH
from schemas.tables.columns import dtypes_column, id_column, now_column, reference_column, text_column


class CorpusTable(SQLModel, table=True):
    """A set of works that is searched together, and the model that its chunks are embedded by."""

    __tablename__ = "corpus"

    id: int | None = Field(default=None, sa_column=id_column())
    name: str = Field(unique=True)
    backend: str
    model: str
    model_digest: str | None = None
    """None until the first batch is embedded."""
    model_dtypes: list[str] = Field(default_factory=list, sa_column=dtypes_column())
    """The number formats of its vectors, in order of their first batch."""
    dimension: int
    embeds_headings: bool = True
    """The headings above a chunk are embedded with it."""
    chunk_tokens: int = Field(default=0, sa_column=Column(Integer, nullable=False, server_default="0"))
    """The most tokens of a chunk, as the embedder counts them; 0 sizes chunks by words."""
    reads_tokens: int | None = None
    """The most tokens of a text that the embedder reads; None if that is not known."""
    language: str | None = Field(default=ENGLISH, sa_column=Column(Text, nullable=True, server_default=ENGLISH))
    """The language of its works; None until the first one is stored."""
    full_text: str | None = Field(default=ENGLISH, sa_column=Column(Text, nullable=True, server_default=ENGLISH))
    """Postgres's text search configuration, by which its chunks and the questions to it are read."""
    searchable_chunks: int = 0
    """Chunks that have a vector and postings; kept with them in one transaction."""
    searchable_terms: int = 0
    """Terms of those chunks, with repetitions: what BM25 takes its mean length from."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())


class CorpusCopyTable(SQLModel, table=True):
    """A corpus that has the works of another one, embedded by another model."""

    __tablename__ = "corpus_copy"

    corpus_id: int = Field(sa_column=reference_column("corpus.id", primary_key=True))
    of_id: int = Field(
        sa_column=Column(BigInteger, ForeignKey("corpus.id", ondelete="CASCADE"), nullable=False, unique=True)
    )
    has_old_vectors: bool
    """The other one has taken its vectors."""


class WorkTable(SQLModel, table=True):
    """A document. Its markdown is kept as it was imported: every line number means a line of it."""

    __tablename__ = "works"
    __table_args__ = (
        Index("ux_works_content_hash", "corpus_id", "content_hash", unique=True),
        Index("ix_works_source_path", "corpus_id", "source_path"),
    )

    id: int | None = Field(default=None, sa_column=id_column())
    corpus_id: int = Field(sa_column=reference_column("corpus.id"))
    title: str = Field(sa_column=text_column())
    authors: str | None = None
    year: int | None = None
    publisher: str | None = None
    isbn: str | None = None
    doi: str | None = None
    edition: str | None = None
    volume: str | None = None
    issue: str | None = None
    pages: str | None = None
    url: str | None = None
    city: str | None = None
    institution: str | None = None
    editor: str | None = None
    abstract: str | None = Field(default=None, sa_column=text_column(nullable=True))
    work_type: str | None = None
    tags: str | None = None
    """With commas between."""
    source_path: str | None = None
    """Where it was imported from; importing that path again replaces the work."""
    markdown: str = Field(sa_column=text_column())
    content_hash: str
    """SHA-256 of the markdown, checked whenever lines are read again."""
    original_hash: str | None = None
    """The file that it was converted from; None for a work that was imported as markdown."""
    page_lines: list[int] = Field(
        default_factory=list, sa_column=Column(ARRAY(Integer), nullable=False, server_default="{}")
    )
    """The line at which each page begins; empty for a work without pages."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    updated_at: datetime | None = Field(default=None, sa_column=now_column())


class OriginalTable(SQLModel, table=True):
    """A file that works were converted from."""

    __tablename__ = "original"

    hash: str = Field(primary_key=True)
    """SHA-256 of its bytes."""
    content: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    size: int = Field(sa_column=Column(BigInteger, nullable=False))
    """Bytes."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())


class ChunkTable(SQLModel, table=True):
    """A section of a work under one heading, or a piece of its content."""

    __tablename__ = "chunks"
    __table_args__ = (
        Index("ix_chunks_content_tsvector", "content_tsvector", postgresql_using="gin"),
        Index("ix_chunks_work_id_start_line", "work_id", "start_line"),
    )

    id: int | None = Field(default=None, sa_column=id_column())
    work_id: int = Field(sa_column=reference_column("works.id"))
    parent_id: int | None = Field(
        default=None,
        sa_column=Column(BigInteger, ForeignKey("chunks.id", ondelete="CASCADE"), nullable=True, index=True),
    )
    level: str
    content: str = Field(sa_column=text_column())
    heading_breadcrumbs: str | None = Field(default=None, sa_column=text_column(nullable=True))
    start_line: int
    end_line: int
    vector_status: str = Field(index=True)
    tokens: int | None = None
    """What is embedded of it, as the embedder counts; None for what is not embedded, and where that is not known."""
    content_tsvector: Any = Field(
        default=None,
        sa_column=Column(TSVECTOR, nullable=True),
    )
    """Of content alone: a heading chunk is never searched, and a whole book is too long for it. A trigger sets it, by
    the configuration of the corpus."""


class ChunkVectorTable(SQLModel, table=True):
    """The vector of a chunk, apart from its text, so that a scan reads vectors only."""

    __tablename__ = "chunk_vector"

    chunk_id: int = Field(sa_column=reference_column("chunks.id", primary_key=True))
    corpus_id: int = Field(sa_column=Column(Integer, nullable=False, index=True))
    vector: Any = Field(sa_column=Column(VECTOR, nullable=False))


class PostingSegmentTable(SQLModel, table=True):
    """Chunks whose postings are stored together: those of a batch, or of several that were merged.

    The columns of bytes are big-endian numbers, one per chunk.
    """

    __tablename__ = "posting_segment"
    __table_args__ = (Index("ix_posting_segment_corpus_id", "corpus_id"),)

    id: int | None = Field(default=None, sa_column=id_column())
    corpus_id: int = Field(sa_column=reference_column("corpus.id"))
    chunks: int
    live: int
    """Chunks of it that can be found; the others were withdrawn."""
    first_chunk_id: int = Field(sa_column=Column(BigInteger, nullable=False))
    last_chunk_id: int = Field(sa_column=Column(BigInteger, nullable=False))
    chunk_ids: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    """Of 8 bytes each."""
    lengths: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    """Terms of each chunk, with repetitions, in 4 bytes; -1 for a chunk that was withdrawn."""
    buckets: int
    """Rows that its terms are spread over."""


class PostingTable(SQLModel, table=True):
    """How often some terms occur in the chunks of a segment: what BM25 is computed from."""

    __tablename__ = "posting"

    segment_id: int = Field(sa_column=reference_column("posting_segment.id", primary_key=True))
    bucket: int = Field(sa_column=Column(Integer, primary_key=True))
    """The CRC-32 of each of its terms, modulo the number of buckets."""
    terms: list[str] = Field(sa_column=Column(ARRAY(Text), nullable=False))
    ends: list[int] = Field(sa_column=Column(ARRAY(Integer), nullable=False))
    """For each term the number of postings of the row up to and with its own."""
    places: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    """For each posting the place of its chunk in the segment, in 2 bytes."""
    frequencies: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    """For each posting how often the term occurs, less one, in 1 byte."""
