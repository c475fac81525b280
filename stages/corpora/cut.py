"""Cuts a work: a heading chunk per section with all its lines, and content chunks under it, which are searched."""

from schemas.full_text import ENGLISH
from schemas.statuses import VectorStatus
from schemas.values.corpora import CutChunk
from stages.corpora.blocks import Block, BlockKind, MarkdownDocument
from stages.corpora.captioned import captions, searched_texts
from stages.corpora.lines import passage
from stages.corpora.measures import Measure, Words
from stages.corpora.packing import ChunkSize, pack
from stages.corpora.sections import Section, sections
from stages.corpora.sentences import Sentence, sentences

_KEPT = {BlockKind.TABLE: VectorStatus.TABLE, BlockKind.FIGURE: VectorStatus.FIGURE}


def cut_work(
    document: MarkdownDocument,
    *,
    title: str,
    size: ChunkSize = ChunkSize(),  # noqa: B008
    measure: Measure = Words(),  # noqa: B008
    language: str = ENGLISH,
    searches_tables: bool = True,
) -> list[CutChunk]:
    """The chunks of a work: each section's heading chunk, followed by the section's own content in the order of lines.

    A heading chunk has the lines of its section, including deeper sections, and the next heading chunk around it as
    parent. A content chunk has sentences of one section, as the language ends them, joined by spaces; each table and
    each figure is a chunk as it is. With `searches_tables` chunks of their words follow, which are searched. A work
    without visible characters has no chunks.
    """
    chunks: list[CutChunk] = []
    places: list[int] = []
    for section in sections(document, title=title):
        places.append(len(chunks))
        heading = _heading_chunk(document, section, None if section.parent is None else places[section.parent])
        if not heading.content.strip():
            continue
        chunks.append(heading)
        own = _text_chunks(section, places[-1], size, measure, language)
        own += [_chunk(section, places[-1], block, _KEPT[block.kind]) for block in section.own if block.kind in _KEPT]
        if searches_tables:
            own += _captioned_chunks(section, places[-1], size, measure)
        chunks += sorted(own, key=lambda chunk: chunk.start_line)
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


def _text_chunks(section: Section, parent: int, size: ChunkSize, measure: Measure, language: str) -> list[CutChunk]:
    left = size.without(measure.around(section.breadcrumbs))
    text = [
        sentence
        for block in section.own
        if block.kind is BlockKind.TEXT
        for sentence in sentences(block, measure=measure, most=left.most, language=language)
    ]
    return [_chunk(section, parent, _joined(chunk), VectorStatus.TO_VEC) for chunk in pack(text, left)]


def _joined(chunk: tuple[Sentence, ...]) -> Block:
    start = min(sentence.start_line for sentence in chunk)
    end = max(sentence.end_line for sentence in chunk)
    return Block(BlockKind.TEXT, start, end, " ".join(sentence.text for sentence in chunk))


def _captioned_chunks(section: Section, parent: int, size: ChunkSize, measure: Measure) -> list[CutChunk]:
    """Each has all lines of its table or figure, with those of the caption."""
    left = size.without(measure.around(section.breadcrumbs))
    caption_of = captions(section.own)
    found: list[CutChunk] = []
    for place, block in enumerate(section.own):
        if block.kind not in _KEPT:
            continue
        caption = caption_of.get(place)
        around = [block] if caption is None else [block, caption]
        start, end = min(one.start_line for one in around), max(one.end_line for one in around)
        for text in searched_texts(block, caption, size=left, measure=measure):
            found.append(_chunk(section, parent, Block(block.kind, start, end, text), VectorStatus.TO_VEC))
    return found


def _chunk(section: Section, parent: int, block: Block, status: VectorStatus) -> CutChunk:
    return CutChunk(
        parent=parent,
        level=f"H{section.level}-chunk",
        content=block.text,
        heading_breadcrumbs=section.breadcrumbs,
        start_line=block.start_line,
        end_line=block.end_line,
        vector_status=status,
    )
