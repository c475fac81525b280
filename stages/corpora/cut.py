"""Cuts a work: a heading chunk per section with all its lines, and content chunks under it, which are searched."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import sentencex

from schemas.full_text import ENGLISH, LANGUAGES
from schemas.statuses import VectorStatus
from schemas.values.documents import CutChunk
from stages.corpora.blocks import DEEPEST_HEADING, Block, BlockKind, MarkdownDocument, passage
from stages.corpora.works import Measure, Words

_SPACE = re.compile(r"\s")
_AT_ONCE: Final = 10_000
"""The splitter's time grows with the square of the length of some texts. A longer paragraph is split in parts."""


class Sentence(NamedTuple):
    """A sentence, or a part of one that fits into a chunk."""

    text: str
    """Without line ends and spaces around it; never empty."""
    start_line: int
    end_line: int
    length: int
    """By the measure of the corpus."""


def sentences(block: Block, *, measure: Measure, most: int, language: str = ENGLISH) -> Iterator[Sentence]:
    """The sentences of a block of text, in order. One that is longer than `most` is split. If the block's text does not
    have a line for each of the block's lines, each sentence has all lines of the block."""
    line, counted = block.start_line, 0
    is_aligned = block.text.count("\n") == block.end_line - block.start_line
    for start, end in _spans(block.text, LANGUAGES[language]):
        text = block.text[start:end].strip()
        if not text:
            continue
        first, last = block.start_line, block.end_line
        if is_aligned:
            lead = len(block.text[start:end]) - len(block.text[start:end].lstrip())
            line += block.text.count("\n", counted, start + lead)
            counted = start + lead
            first, last = line, line + text.count("\n")
        for piece in measure.pieces(" ".join(text.split()), most):
            yield Sentence(piece, first, last, measure.length(piece))


def plain_sentences(text: str, *, language: str = ENGLISH) -> Iterator[str]:
    """The sentences of running text with the spaces between them, in order."""
    for start, end in _spans(text, LANGUAGES[language]):
        yield text[start:end]


def _spans(text: str, code: str) -> Iterator[tuple[int, int]]:
    # The splitter treats line ends as ends of sentences, and fails at some of the rarer spaces.
    start = 0
    for part in _parts(_SPACE.sub(" ", text)):
        for sentence in sentencex.segment(code, part):
            yield start, start + len(sentence)
            start += len(sentence)


def _parts(text: str) -> Iterator[str]:
    """The text in parts of at most _AT_ONCE characters, which end after a space where they have one."""
    start = 0
    while len(text) - start > _AT_ONCE:
        end = (text.rfind(" ", start, start + _AT_ONCE) + 1) or start + _AT_ONCE
        yield text[start:end]
        start = end
    yield text[start:]


@dataclass(frozen=True)
class ChunkSize:
    """The length of chunks, in words or tokens, and what neighbours share. The defaults are words."""

    target: int = 200
    """A chunk of this length is full."""
    most: int = 300
    least: int = 50
    """A last chunk with less new text is merged into the chunk before it, if it fits."""
    overlap: int = 3
    """Sentences at the end of a chunk that the next one repeats, if they fit."""
    shared: int | None = None
    """The greatest length of these sentences; None allows what fits."""

    @classmethod
    def of_tokens(cls, most: int) -> "ChunkSize":
        """Chunks filled up to this number of tokens."""
        return cls(target=most, most=most, least=most // 4, shared=most // 4)

    def without(self, around: int) -> "ChunkSize":
        """The size that is left for content; never less than half."""
        if not around:
            return self
        most = max(self.most - around, self.most // 2, 1)
        return replace(self, target=min(self.target, most), most=most)


def pack(sentences: Sequence[Sentence], size: ChunkSize) -> list[tuple[Sentence, ...]]:
    """The chunks of one section in order. No chunk is longer than `size.most` if no sentence is. Every sentence is new
    in exactly one chunk, and each chunk has at least one new sentence. Without sentences there are no chunks."""
    chunks: list[list[Sentence]] = []
    repeated, length, length_before = 0, 0, 0
    for sentence in sentences:
        if not chunks or length >= size.target or length + sentence.length > size.most:
            chunks.append(_repeated(chunks[-1], sentence, size) if chunks else [])
            repeated, length, length_before = len(chunks[-1]), _length(chunks[-1]), length
        chunks[-1].append(sentence)
        length += sentence.length
    if len(chunks) > 1:
        left = chunks[-1][repeated:]
        if _length(left) < size.least and length_before + _length(left) <= size.most:
            chunks[-2:] = [[*chunks[-2], *left]]
    return [tuple(chunk) for chunk in chunks]


def _repeated(before: Sequence[Sentence], first: Sentence, size: ChunkSize) -> list[Sentence]:
    """The end of a chunk that the next one repeats: never all of it, and only as much as fits."""
    shared = [*before[1:]][-size.overlap :] if size.overlap else []
    fits = size.target - first.length if size.shared is None else min(size.shared, size.target - first.length)
    while shared and _length(shared) > fits:
        shared = shared[1:]
    return shared


def _length(sentences: Sequence[Sentence]) -> int:
    return sum(sentence.length for sentence in sentences)


_LABELS: Final = {BlockKind.TABLE: "tab|cuadro|quadro|табл|表", BlockKind.FIGURE: "fig|abb|afb|ill|рис|图|図"}
_CAPTIONS: Final = {
    kind: re.compile(rf":\s|\W{{0,4}}(?:{labels})\w{{0,12}}\.?\s{{0,3}}[a-z]?\.?\d", re.IGNORECASE)
    for kind, labels in _LABELS.items()
}
_LONGEST_NAME: Final = 80
"""Characters of a header's name, which is repeated in each row."""


def captions(blocks: Sequence[Block]) -> dict[int, Block]:
    """The captions of the tables and figures of a section, by their places among its blocks. A caption is a text just
    before or after, which begins as `Table 1` or `Fig. 2.3` do, or with a colon. No text is the caption of two."""
    found: dict[int, Block] = {}
    taken: set[int] = set()
    for place, block in enumerate(blocks):
        for beside in (place - 1, place + 1) if block.kind in _CAPTIONS else ():
            if beside in taken or not 0 <= beside < len(blocks) or blocks[beside].kind is not BlockKind.TEXT:
                continue
            if _CAPTIONS[block.kind].match(blocks[beside].text):
                found[place] = blocks[beside]
                taken.add(beside)
                break
    return found


def _table(rows: Sequence[Sequence[str]]) -> tuple[str, list[str]]:
    """The title of a table and a line for each row. A row above the header with its first cell alone is a title."""
    title = ""
    while len(rows) > 1 and rows[0][0] and not any(rows[0][1:]) and any(rows[1][1:]):
        title, rows = f"{title} {rows[0][0]}".strip(), rows[1:]
    names = [name[:_LONGEST_NAME] for name in rows[0]] if len(rows) > 1 else [""] * len(rows[0])
    return title, [_row(names, row) for row in rows[1:] or rows]


def _row(names: Sequence[str], row: Sequence[str]) -> str:
    cells = (f"{name}: {cell}" if name else cell for name, cell in zip(names, row, strict=True) if cell)
    return _ended("; ".join(cells))


def _ended(text: str) -> str:
    """In one line, without markup around it, as a sentence."""
    words = " ".join(text.replace("**", "").split()).strip("*_: ")
    return words if not words or words.endswith((".", "!", "?")) else f"{words}."


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


def sections(document: MarkdownDocument, *, title: str) -> list[Section]:
    """The sections in the order of the work, sections before those inside them. Content before the first heading is a
    section of level 1 under the work's title; so is a whole work without headings."""
    found: list[Section] = []
    # Open sections: the place of each, and the level of the deepest heading that ends it.
    around: list[tuple[int, int]] = []
    for block in document.blocks:
        if block.kind is BlockKind.HEADING:
            while around and around[-1][1] >= block.level:
                place, _ = around.pop()
                found[place].end_line = block.start_line - 1
            parent = around[-1][0] if around else None
            path = () if parent is None else found[parent].path
            own = (block.text,) if block.text else ()
            around.append((len(found), block.level))
            found.append(Section(parent, block.level, path + own, block.start_line, len(document.lines)))
            continue
        if not found:
            around.append((0, DEEPEST_HEADING))
            found.append(Section(None, 1, (title,), block.start_line, len(document.lines)))
        found[-1].own.append(block)
    return found


_KEPT = {BlockKind.TABLE: VectorStatus.TABLE, BlockKind.FIGURE: VectorStatus.FIGURE}


def cut_work(
    document: MarkdownDocument,
    title: str,
    *,
    size: ChunkSize = ChunkSize(),
    measure: Measure = Words(),  # noqa: B008
    language: str = ENGLISH,
    counted_by: Measure | None = None,
) -> list[CutChunk]:
    """The chunks of a work: each section's heading chunk, followed by the section's own content in the order of lines.

    A heading chunk has the lines of its section, including deeper sections, and the next heading chunk around it as
    parent. A content chunk has sentences of one section, as the language ends them, joined by spaces; each table and
    each figure is a chunk as it is. Chunks of their words follow, which are searched. A work
    without visible characters has no chunks. `counted_by` counts the tokens of what is embedded.
    """
    chunks: list[CutChunk] = []
    places: list[int] = []
    for section in sections(document, title=title):
        places.append(len(chunks))
        path, around = SEPARATOR.join(section.path) or None, None if section.parent is None else places[section.parent]
        text = passage(document.lines, section.start_line, section.end_line)
        if not text.strip():
            continue
        whole = Block(BlockKind.HEADING, section.start_line, section.end_line, text)
        left = size.without(measure.around(path))
        own = [(block, VectorStatus.TO_VEC) for block in _texts(section, left, measure, language)]
        own += [(block, _KEPT[block.kind]) for block in section.own if block.kind in _KEPT]
        own += [(block, VectorStatus.TO_VEC) for block in _searched(section, left, measure)]
        own.sort(key=lambda one: one[0].start_line)
        for block, status in [(whole, VectorStatus.NO_VEC), *own]:
            counts = counted_by if status is VectorStatus.TO_VEC else None
            chunk = CutChunk(
                parent=around if block is whole else places[-1],
                level=f"H{section.level}{'' if block is whole else '-chunk'}",
                content=block.text,
                heading_breadcrumbs=path,
                start_line=block.start_line,
                end_line=block.end_line,
                vector_status=status,
                tokens=None if counts is None else counts.around(path) + counts.length(block.text),
            )
            chunks.append(chunk)
    return chunks


def _texts(section: Section, size: ChunkSize, measure: Measure, language: str) -> Iterator[Block]:
    """The text of each content chunk of a section."""
    text = [
        sentence
        for block in section.own
        if block.kind is BlockKind.TEXT
        for sentence in sentences(block, measure=measure, most=size.most, language=language)
    ]
    for chunk in pack(text, size):
        start, end = min(one.start_line for one in chunk), max(one.end_line for one in chunk)
        yield Block(BlockKind.TEXT, start, end, " ".join(one.text for one in chunk))


def _searched(section: Section, size: ChunkSize, measure: Measure) -> Iterator[Block]:
    """The words of each table and figure, each chunk of them below the caption, with all lines of both. None of a table
    without words and of a figure without a description, whose caption is found as text."""
    caption_of = captions(section.own)
    for place, block in enumerate(section.own):
        if block.kind not in _KEPT:
            continue
        caption = caption_of.get(place)
        around = [block] if caption is None else [block, caption]
        start, end = min(one.start_line for one in around), max(one.end_line for one in around)
        is_table = block.kind is BlockKind.TABLE
        title, lines = _table(block.rows) if is_table else ("", [_ended(cell) for cell in block.rows[0]])
        above = " ".join(filter(None, (_ended("" if caption is None else caption.text), _ended(title))))
        above = next(measure.pieces(above, size.most // 2))
        left = replace(size.without(measure.length(above)), overlap=0)
        parts = [
            Sentence(piece, start, end, measure.length(piece))
            for line in lines
            for piece in measure.pieces(line, left.most)
            if line
        ]
        for chunk in pack(parts, left):
            yield Block(block.kind, start, end, " ".join([above, *(part.text for part in chunk)]).strip())


def pages_of(page_lines: Sequence[int], start_line: int, end_line: int) -> tuple[int, int] | None:
    """The first and the last page of these lines, from 1; None for a work without pages. `page_lines` has the line at
    which each page begins, in order. Of pages that begin at one line, all but the last have no text of their own.

    >>> pages_of([1, 5, 5, 9], 4, 6), pages_of([], 4, 6)
    ((1, 3), None)
    """
    if not page_lines:
        return None
    first, last = (max(bisect_right(page_lines, line), 1) for line in (start_line, max(start_line, end_line)))
    return first, last


def lines_in_words(first: int, last: int, what: str = "line") -> str:
    """The first and the last line, or page, in words.

    >>> lines_in_words(3, 3), lines_in_words(3, 4), lines_in_words(3, 4, "page")
    ('line 3', 'lines 3 to 4', 'pages 3 to 4')
    """
    return f"{what} {first}" if first == last else f"{what}s {first} to {last}"


def headings_in_words(title: str, headings: Sequence[str], separator: str = " > ") -> str:
    """The title of a work and the headings above a place in it; a first heading that is the title is said once.

    >>> headings_in_words("Tea", ["Tea", "Black"])
    'Tea > Black'
    """
    return separator.join(headings if headings and headings[0] == title else [title, *headings])
