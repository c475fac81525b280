"""Cuts a work: a heading chunk per section with all its lines, and content chunks under it, which are searched."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from schemas.full_text import ENGLISH
from schemas.statuses import VectorStatus
from schemas.values.corpora import CutChunk
from stages.corpora.blocks import DEEPEST_HEADING, Block, BlockKind, MarkdownDocument
from stages.corpora.captioned import captions, searched_texts
from stages.corpora.lines import passage
from stages.corpora.measures import Measure, Words
from stages.corpora.packing import ChunkSize, pack
from stages.corpora.sentences import Sentence, sentences

#: Separates two headings in a path of headings.
SEPARATOR = " > "


@dataclass
class Section:
    """A heading, the lines under it including deeper headings, and its own blocks."""

    parent: int | None
    """Index of the section around it."""
    level: int
    path: tuple[str, ...]
    """The headings from the outermost to its own; those without words are omitted."""
    start_line: int
    end_line: int
    own: list[Block] = field(default_factory=list)

    @property
    def breadcrumbs(self) -> str | None:
        """The path in one line; None if it is empty."""
        return SEPARATOR.join(self.path) or None


def sections(document: MarkdownDocument, *, title: str) -> list[Section]:
    """The sections in the order of the work, sections before those inside them.

    Content before the first heading is a section of level 1 under the work's title; so is a whole work without
    headings.
    """
    found: list[Section] = []
    around: list[_Open] = []
    for block in document.blocks:
        if block.kind is BlockKind.HEADING:
            while around and around[-1].ends_at >= block.level:
                found[around.pop().place].end_line = block.start_line - 1
            parent = around[-1].place if around else None
            path = () if parent is None else found[parent].path
            own = (block.text,) if block.text else ()
            around.append(_Open(len(found), block.level))
            found.append(Section(parent, block.level, path + own, block.start_line, len(document.lines)))
            continue
        if not found:
            around.append(_Open(0, DEEPEST_HEADING))
            found.append(Section(None, 1, (title,), block.start_line, len(document.lines)))
        found[-1].own.append(block)
    return found


class _Open(NamedTuple):
    place: int
    ends_at: int
    """The level of the deepest heading that ends it."""


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


def pages_of(page_lines: Sequence[int], start_line: int, end_line: int) -> tuple[int, int] | None:
    """The first and the last page of these lines, from 1; None for a work without pages.

    `page_lines` has the line at which each page begins, in order. Of pages that begin at one line, all but the last
    have no text of their own.

    >>> pages_of([1, 5, 5, 9], 4, 6), pages_of([], 4, 6)
    ((1, 3), None)
    """
    if not page_lines:
        return None
    first, last = (max(bisect_right(page_lines, line), 1) for line in (start_line, max(start_line, end_line)))
    return first, last


def pages_in_words(pages: Sequence[int]) -> str:
    """The first and the last page in words.

    >>> pages_in_words((3, 3)), pages_in_words((3, 4))
    ('page 3', 'pages 3 to 4')
    """
    first, last = pages
    return f"page {first}" if first == last else f"pages {first} to {last}"
