"""Works and their chunks."""

from pydantic import Field

from schemas.statuses import VectorStatus
from schemas.values.base import Value


class Bibliography(Value):
    """Bibliographic fields of a work. Only the title is required."""

    title: str
    authors: str | None = None
    year: int | None = Field(default=None, ge=-9999, le=9999)
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
    abstract: str | None = None
    work_type: str | None = None
    tags: str | None = None
    """With commas between."""


class CorpusChunk(Value):
    """A stored chunk of a work."""

    id: int
    work_id: int
    parent_id: int | None
    """The heading chunk of the nearest section around it."""
    level: str
    """`H1` to `H5` for a heading chunk; `H2-chunk` for content under a heading of level 2."""
    content: str
    heading_breadcrumbs: str | None
    """The path of headings, joined by ` > `."""
    start_line: int
    """1-based line of the work's stored markdown."""
    end_line: int
    """Inclusive."""


class CutChunk(Value):
    """A chunk of a work after cutting, before it has an id."""

    parent: int | None
    """Index, in its list, of the heading chunk around it; parents are before their children."""
    level: str
    content: str = Field(repr=False)
    heading_breadcrumbs: str | None = Field(repr=False)
    start_line: int
    end_line: int
    vector_status: VectorStatus
    tokens: int | None = None
    """What will be embedded of it, as the embedder counts; None if that is not known."""


class EmbeddedBatch(Value):
    """Stage `embed` of a corpus: the embedded chunks. The vectors are stored separately, one per chunk."""

    model: str
    model_digest: str
    dimension: int
    chunk_ids: tuple[int, ...]
    gone: int
    """Chunks of the batch that were replaced before they were embedded; their successors are in another batch."""
    cut_texts: int = 0
    """Chunks that are longer than the embedder reads, and were cut."""
    cut_chunk_ids: tuple[int, ...] = ()
    """These chunks."""
    dtype: str = ""
    """The number format that the embedder computed in; empty if its server reports none."""
    reused_texts: int = 0
    """Texts whose vectors were stored before, and were not computed again."""


class PublishedBatch(Value):
    """Stage `publish` of a corpus: the chunks that are now searchable."""

    corpus_id: int
    chunks: int
