"""Cuts a work: a heading chunk per section with all its lines, and content chunks under it, which are searched."""

from schemas.full_text import ENGLISH
from schemas.statuses import VectorStatus
from schemas.values.corpora import CutChunk
from stages.corpora.blocks import Block, BlockKind, MarkdownDocument
from stages.corpora.lines import passage
from stages.corpora.measures import Measure, Words
from stages.corpora.packing import ChunkSize, pack
from stages.corpora.sections import Section, sections
from stages.corpora.sentences import Sentence, sentences

_UNSEARCHED = {BlockKind.TABLE: VectorStatus.TABLE, BlockKind.FIGURE: VectorStatus.FIGURE}


def cut_work(
    document: MarkdownDocument,
    *,
    title: str,
    size: ChunkSize = ChunkSize(),  # noqa: B008
    measure: Measure = Words(),  # noqa: B008
    language: str = ENGLISH,
) -> list[CutChunk]:
    """The chunks of a work: each section's heading chunk, followed by the section's own content in the order of lines.

    A heading chunk has the lines of its section, including deeper sections, and the next heading chunk around it as
    parent. A content chunk has sentences of one section, as the language ends them, joined by spaces; each table and
    each figure is a chunk. A work without visible characters has no chunks.
    """
    chunks: list[CutChunk] = []
    places: list[int] = []
    for section in sections(document, title=title):
        places.append(len(chunks))
        heading = _heading_chunk(document, section, None if section.parent is None else places[section.parent])
        if not heading.content.strip():
            continue
        chunks.append(heading)
        chunks += sorted(
            _content_chunks(section, places[-1], size, measure, language), key=lambda chunk: chunk.start_line
        )
    return chunks


def _heading_chunk(document: MarkdownDocument, section: Section, parent: int | None) -> CutChunk:
    return CutChunk(
        parent=parent,
        level=f"H{section.level}",
        content=passage(document.lines, section.start_line, section.end_line),
        heading_breadcrumbs=section.breadcrumbs,
        start_line=section.start_line,
        end_line=section.end_line,
        vector_status=VectorStatus.NO_VEC,
    )


def _content_chunks(section: Section, parent: int, size: ChunkSize, measure: Measure, language: str) -> list[CutChunk]:
    left = size.without(measure.around(section.breadcrumbs))
    text = [
        sentence
        for block in section.own
        if block.kind is BlockKind.TEXT
        for sentence in sentences(block, measure=measure, most=left.most, language=language)
    ]
    packed = [_text_chunk(section, parent, chunk) for chunk in pack(text, left)]
    return packed + [_block_chunk(section, parent, block) for block in section.own if block.kind in _UNSEARCHED]


def _text_chunk(section: Section, parent: int, chunk: tuple[Sentence, ...]) -> CutChunk:
    return CutChunk(
        parent=parent,
        level=f"H{section.level}-chunk",
        content=" ".join(sentence.text for sentence in chunk),
        heading_breadcrumbs=section.breadcrumbs,
        start_line=min(sentence.start_line for sentence in chunk),
        end_line=max(sentence.end_line for sentence in chunk),
        vector_status=VectorStatus.TO_VEC,
    )


def _block_chunk(section: Section, parent: int, block: Block) -> CutChunk:
    return CutChunk(
        parent=parent,
        level=f"H{section.level}-chunk",
        content=block.text,
        heading_breadcrumbs=section.breadcrumbs,
        start_line=block.start_line,
        end_line=block.end_line,
        vector_status=_UNSEARCHED[block.kind],
    )
