"""Corpora and works as they are shown: their sizes, sections and chunks."""

from datetime import datetime

from pydantic import Field, computed_field

from schemas.statuses import VectorStatus
from schemas.values.base import Value
from schemas.values.documents import Bibliography


class CorpusSize(Value):
    """A corpus and its size."""

    id: int = Field(examples=[1])
    name: str = Field(examples=["default"])
    works: int = Field(examples=[12])
    searchable_chunks: int = Field(examples=[940])
    """Chunks that searches can find."""
    model: str = Field(examples=["sentence-transformers/all-MiniLM-L6-v2"])
    """The model that embeds it."""
    language: str | None = Field(examples=["english"])
    """Null until the first work is stored."""
    full_text: str | None = Field(examples=["english"])
    """The text search configuration of Postgres; `simple` has no dictionary."""


class ListedWork(Value):
    """A work in one line."""

    id: int = Field(examples=[7])
    title: str = Field(examples=["On Tea"])
    authors: str | None = Field(examples=["A. Leaf, B. Pot"])
    year: int | None = Field(examples=[2019])
    source_path: str | None = Field(examples=["tea.md"])
    content_hash: str = Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])
    """SHA-256 of the stored markdown."""
    chunks: int = Field(examples=[2])
    """Content chunks that are searched or wait for it."""
    searchable: int = Field(examples=[2])
    created_at: datetime
    updated_at: datetime


class WorkView(Bibliography):
    """A work without its text."""

    id: int = Field(examples=[7])
    corpus_id: int = Field(examples=[1])
    corpus: str = Field(examples=["default"])
    source_path: str | None = Field(examples=["tea.md"])
    content_hash: str = Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])
    """SHA-256 of the stored markdown."""
    lines: int = Field(examples=[15])
    """Lines of the markdown, up to the last that is in a section."""
    chunks: int = Field(examples=[2])
    """Content chunks."""
    searchable: int = Field(examples=[2])
    """Those of them that can be found."""
    created_at: datetime
    updated_at: datetime


class WorkHeading(Value):
    """A section of a work."""

    id: int = Field(examples=[7])
    """Also a chunk, and the `parent_id` of what is in the section."""
    parent_id: int | None = Field(examples=[11])
    level: int = Field(ge=1, le=5, examples=[2])
    text: str = Field(examples=["Oxidation"])
    """The heading's own words; empty where it has none."""
    start_line: int = Field(examples=[9])
    """1-based line of the work's markdown."""
    end_line: int = Field(examples=[15])
    """Inclusive."""
    chunks: int = Field(examples=[2])
    """Content chunks of the section itself, without deeper sections."""


class WorkChunk(Value):
    """A content chunk of a work."""

    id: int = Field(examples=[7])
    parent_id: int | None = Field(examples=[11])
    """The section around it."""
    level: str = Field(examples=["H2-chunk"])
    start_line: int = Field(examples=[9])
    """1-based line of the work's markdown."""
    end_line: int = Field(examples=[15])
    """Inclusive."""
    heading_breadcrumbs: str | None = Field(examples=["Tea > Oxidation"])
    vector_status: VectorStatus = Field(examples=["vec"])
    """`vec` can be found, `to_vec` waits for its vector, `vec_err` failed, `tbl` and `fig` are not embedded."""
    is_cut: bool
    """The text is longer than the embedder reads: the vector has only its beginning."""
    content: str = Field(repr=False, examples=["After picking, the leaves are rolled."])

    @computed_field(examples=[143])  # type: ignore[prop-decorator]
    @property
    def words(self) -> int:
        """Words with spaces between them."""
        return len(self.content.split())
