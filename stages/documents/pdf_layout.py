"""Lines of a PDF, with their places and fonts, as markdown."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final, NamedTuple

from schemas.values.documents import ConvertedDocument, TocEntry
from stages.corpora.blocks import DEEPEST_HEADING
from stages.documents.outline import title_key, without_number

#: A line that is so much larger than the text is a heading.
_LARGER: Final = 1.12
#: A longer line is no heading, however large.
_LONGEST_HEADING: Final = 200
#: Lines of a page at its top and bottom among which headers and footers are looked for.
_EDGE_LINES: Final = 3
#: Pages that have the same line at the same height, before it is a header or footer.
_FEWEST_REPEATS: Final = 3
#: Heights of a line between two baselines, beyond which a paragraph ends.
_GAP: Final = 1.75
#: The share of the table of contents that has to be found in the text, for the table to decide.
_ENOUGH_FOUND: Final = 0.8
_MOST_LINES_OF_HEADING: Final = 4
#: Places of the same bold line, before it is a label.
_FEWEST_LABELS: Final = 4
_MOST_INDENT: Final = 80

#: A line at the end of a page that is so much smaller than the text is a footnote.
_SMALLER: Final = 0.9
_HYPHENS: Final = ("-", "\N{SOFT HYPHEN}", "\N{HYPHEN}", "\x02", "\ufffe")
_WORD: Final = re.compile(r"[^\W\d_]{1,50}(?:-[^\W\d_]{1,50}){0,5}")
#: What follows a hyphen that stands for the rest of a word, as in "two- and threefold".
_AFTER_STUB: Final = frozenset(("and", "or", "to", "und", "oder", "bis", "et", "ou"))
_LAST_WORD: Final = re.compile(r"[^\W\d_]{1,50}(?:-[^\W\d_]{1,50}){0,5}\Z")
_LIGATURES: Final = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\ufffe": "\x02"}
)
_ONLY_NUMBER: Final = re.compile(r"(?:(?:chapter|part|appendix|section)\s)?(?:\d{1,3}|[ivxlc]{1,6}|[a-z])[.:]?", re.I)
_DIGITS: Final = re.compile(r"\d+")
_PAGE_NUMBER: Final = re.compile(r"(?:page )?(?:\d{1,5}|[ivxlc]{1,8})(?: (?:of|/) \d{1,5})?", re.IGNORECASE)
_BULLET: Final = re.compile(r"[•◦‣▪●○∙·*–—-]\s+")
_NUMBERED: Final = re.compile(r"\(?(\d{1,3})[.)]\s+(?=\S)")
_LEADERS: Final = re.compile(r"(?:\.\s?){4,200}\s{0,20}\d{0,5}\s{0,20}$")
_LONGEST_END: Final = 100
"""Characters at the end of a line in which the dots are looked for that lead to a page's number."""
_ENDS_SENTENCE: Final = (".", "!", "?", ":", "”", '"', "…")
#: Where a line of text would be read as markup.
_MARKUP: Final = re.compile(r"(?=#{1,6}(?:\s|$)|>|\||```|~~~|(?:-{3,}|\*{3,}|_{3,}|={2,})\s*$|[+*-]\s)")


class PdfLine(NamedTuple):
    """A line of a page. Lengths are in points; y grows upwards."""

    text: str
    size: float
    """The height of its font."""
    left: float
    right: float
    bottom: float
    is_bold: bool
    is_fixed: bool
    """Whether all its letters are equally wide."""


class PdfPage(NamedTuple):
    """A page."""

    height: float
    lines: tuple[PdfLine, ...]


_Lines = Sequence[tuple[int, PdfLine]]
"""The lines of a page that are read, with their numbers there."""
_Place = tuple[int, int]
"""A page and a line of it."""
_Headings = dict[_Place, tuple[int, int]]
"""Where headings begin: their level, and how many lines they have."""
_Starts = list[tuple[int, int, float, int]]
"""Where headings may begin: page, line, `_rank`, and how many lines they have."""


@dataclass
class _Block:
    lines: list[str]
    page: int
    level: int = 0
    is_code: bool = False
    is_note: bool = False
    lefts: list[float] = field(default_factory=list)
    """Of the lines of code."""
    widths: list[float] = field(default_factory=list)
    """Of their letters."""


@dataclass
class _Reader:
    """Joins the lines of pages to blocks."""

    headings: _Headings
    body: float
    words: frozenset[str]
    """Words that the document has within lines, those with a hyphen too."""
    blocks: list[_Block] = field(default_factory=list)

    def read(self, number: int, lines: _Lines) -> None:
        """The lines of a page."""
        before: PdfLine | None = None
        skipped = 0
        notes = _footnotes(lines, self.body)
        for place, (at, line) in enumerate(lines):
            if skipped:
                skipped -= 1
                continue
            if (number, at) in self.headings:
                level, count = self.headings[number, at]
                text = reduce(self._joined, (part.text.strip() for _, part in lines[place : place + count]))
                self.blocks.append(_Block([text], number, level))
                skipped, before = count - 1, None
                continue
            follows = lines[place + 1][1] if place + 1 < len(lines) else None
            is_note = place >= notes
            if place == notes:
                before = None
            is_beside_code = any(beside is not None and beside.is_fixed for beside in (before, follows))
            if line.is_fixed and (is_beside_code or not self._continues(line, before, number)):
                self._code(number, line, before)
            elif not (is_note and before is None) and self._continues(line, before, number):
                last = self._last(before)
                last.lines[-1] = self._joined(last.lines[-1], line.text.strip())
            else:
                self.blocks.append(_Block([_item(line.text.strip())], number, is_note=is_note))
            before = line

    def _last(self, before: PdfLine | None) -> _Block:
        """The block that a line may continue: at the beginning of a page not a footnote of the page before."""
        if before is not None:
            return self.blocks[-1]
        return next((block for block in reversed(self.blocks) if not block.is_note), self.blocks[-1])

    def _code(self, number: int, line: PdfLine, before: PdfLine | None) -> None:
        if not (self.blocks and self.blocks[-1].is_code and before is not None and before.is_fixed):
            self.blocks.append(_Block([], number, is_code=True))
        block = self.blocks[-1]
        block.lines.append(line.text)
        block.lefts.append(line.left)
        block.widths.append((line.right - line.left) / max(1, len(line.text.strip())))

    def _continues(self, line: PdfLine, before: PdfLine | None, number: int) -> bool:
        if not self.blocks:
            return False
        block = self._last(before)
        if block.level or block.is_code:
            return False
        text = line.text.strip()
        if _BULLET.match(text) or _NUMBERED.match(text):
            return False
        last = block.lines[-1]
        if before is None:
            is_next_page = block.page < number
            return is_next_page and not last.endswith(_ENDS_SENTENCE) and text[:1].islower()
        step = before.bottom - line.bottom
        if step < 0:
            return not last.endswith(_ENDS_SENTENCE) and text[:1].islower()
        is_indented = line.left - before.left > self.body and last.endswith(_ENDS_SENTENCE)
        return step <= _GAP * max(line.size, before.size) and not is_indented

    def _joined(self, last: str, text: str) -> str:
        """Two lines of one paragraph as one. A word that the end of the line divides is joined; its hyphen stays where
        the document has the word with it elsewhere, and before a capital or a digit."""
        if not last.endswith(_HYPHENS) or not last[-2:-1].isalnum() or not text[:1].isalnum():
            return f"{last} {text}"
        first, rest = _LAST_WORD.search(last[:-1]), _WORD.match(text)
        if first is None or rest is None or not text[:1].islower() or not last[-2].isalpha():
            return f"{last[:-1]}-{text}"
        left, right = first[0].casefold(), rest[0].casefold()
        if f"{left}{right}" not in self.words:
            if right in _AFTER_STUB:
                return f"{last[:-1]}- {text}"
            if f"{left}-{right}" in self.words or "-" in left:
                return f"{last[:-1]}-{text}"
        return last[:-1] + text


def _footnotes(lines: _Lines, body: float) -> int:
    """The place of the first of the small lines at the end of a page that also has lines of the text's size."""
    place = len(lines)
    while place and lines[place - 1][1].size <= _SMALLER * body and not lines[place - 1][1].is_fixed:
        place -= 1
    return place or len(lines)


def pdf_markdown(pages: Sequence[PdfPage], toc: Sequence[TocEntry]) -> ConvertedDocument:
    """Markdown with the headings of the PDF's own outline, or with those that its fonts show. The outline decides where
    80 % of its entries are found on their pages. Headers, footers and page numbers are left out, words that are divided
    at the end of a line are joined, and so are paragraphs that a page divides."""
    pages = [
        page._replace(lines=tuple(line._replace(text=line.text.translate(_LIGATURES)) for line in page.lines))
        for page in pages
    ]
    left_out = _running_lines(pages) | (_contents_lines(pages) if toc else set())
    kept = [
        [(at, line) for at, line in enumerate(page.lines) if (number, at) not in left_out and line.text.strip()]
        for number, page in enumerate(pages)
    ]
    body = _body_size(kept)
    headings = _headings_by_outline(kept, toc)
    found = f"{len(headings)} of the {len(toc)} entries of the PDF's outline are found in its text"
    headings_by = f"outline: {found}"
    if not headings or len(headings) < _ENOUGH_FOUND * len(toc):
        headings_by = f"style: {f'only {found}' if headings else 'the PDF has no outline'}"
        headings = _headings_by_style(kept, body)
    reader = _Reader(headings, body, _words(kept))
    for number, lines in enumerate(kept):
        reader.read(number, lines)
    written: list[str] = []
    page_lines: list[int] = []
    for block in reader.blocks:
        # A page without a block of its own begins with the next block.
        page_lines += [len(written) + 1] * (block.page + 1 - len(page_lines))
        written += [*_markdown(block), ""]
    page_lines += [len(written) + 1] * (len(pages) - len(page_lines))
    without_text = [at for at, page in enumerate(pages, start=1) if not any(line.text.strip() for line in page.lines)]
    return ConvertedDocument(
        format="pdf",
        converter="rules",
        markdown="\n".join(written),
        page_lines=tuple(page_lines),
        headings_by=headings_by,
        toc=tuple(toc),
        pages=len(pages),
        left_out_lines=len(left_out),
        pages_without_text=tuple(without_text),
    )


def _words(pages: Sequence[_Lines]) -> frozenset[str]:
    """The words within lines; what ends a line may be a part of a word."""
    return frozenset(
        word[0].casefold()
        for lines in pages
        for _, line in lines
        for word in _WORD.finditer(line.text.rstrip())
        if word.end() < len(line.text.rstrip())
    )


def _running_lines(pages: Sequence[PdfPage]) -> set[_Place]:
    """Headers, footers and page numbers. A line at the edge of a page is one of them when it is a page's number, when
    its text is at that height of three pages but for numbers, or when it stands apart from the text as most of what is
    at that height of a third of the pages does."""
    by_text: dict[tuple[str, int], list[_Place]] = defaultdict(list)
    by_height: dict[int, list[tuple[int, int, bool]]] = defaultdict(list)
    found: set[_Place] = set()
    for number, page in enumerate(pages):
        written = (at for at, line in enumerate(page.lines) if line.text.strip())
        ordered = sorted(written, key=lambda at: -page.lines[at].bottom)
        for place, at in enumerate(ordered):
            is_edge = place < _EDGE_LINES or place >= len(ordered) - _EDGE_LINES
            line = page.lines[at]
            if not is_edge or page.height * 0.1 < line.bottom < page.height * 0.88:
                continue
            text = " ".join(line.text.split())
            if _PAGE_NUMBER.fullmatch(text):
                found.add((number, at))
            by_text[_DIGITS.sub("#", text), round(line.bottom / 4)].append((number, at))
            inner = ordered[place + 1 :] if line.bottom > page.height / 2 else ordered[:place][::-1]
            gaps = [abs(line.bottom - page.lines[other].bottom) for other in inner]
            # What is beside it belongs to it.
            gap = next((gap for gap in gaps if gap > line.size / 2), 0.0)
            by_height[round(line.bottom / 2)].append((number, at, gap > _GAP * line.size))
    for places in by_text.values():
        if len({number for number, _ in places}) >= _FEWEST_REPEATS:
            found.update(places)
    for apart in by_height.values():
        is_often = len({number for number, _, _ in apart}) >= max(_FEWEST_REPEATS, len(pages) / 3)
        if is_often and sum(is_apart for _, _, is_apart in apart) > 0.8 * len(apart):
            found.update((number, at) for number, at, _ in apart)
    return found


def _contents_lines(pages: Sequence[PdfPage]) -> set[_Place]:
    """The lines of a printed table of contents: those with leaders, and all of a page where these are a third."""
    found: set[_Place] = set()
    for number, page in enumerate(pages):
        lines = [at for at, line in enumerate(page.lines) if line.text.strip()]
        led = [at for at in lines if _has_leaders(page.lines[at].text)]
        found.update((number, at) for at in (lines if 3 * len(led) >= len(lines) else led))
    return found


def _has_leaders(text: str) -> bool:
    return _LEADERS.search(text[-_LONGEST_END:]) is not None


def _body_size(pages: Sequence[_Lines]) -> float:
    counted: Counter[float] = Counter()
    for lines in pages:
        for _, line in lines:
            counted[round(line.size, 1)] += len(line.text)
    return counted.most_common(1)[0][0] if counted else 0.0


def _headings_by_style(pages: Sequence[_Lines], body: float) -> _Headings:
    starts: _Starts = []
    for number, lines in enumerate(pages):
        place = 0
        while place < len(lines):
            at, line = lines[place]
            rank = _rank(line, body)
            count = 1
            if rank:
                while (
                    count < _MOST_LINES_OF_HEADING
                    and place + count < len(lines)
                    and _rank(lines[place + count][1], body) == rank
                    and lines[place + count - 1][1].bottom - lines[place + count][1].bottom <= _GAP * line.size
                ):
                    count += 1
                follows = lines[place + count][1] if place + count < len(lines) else None
                if rank > 1 or follows is None or _rank(follows, body) != rank:
                    starts.append((number, at, rank, count))
            place += count
    starts = _without_labels(_with_numbers(starts, pages), pages)
    ranks = sorted({rank for _, _, rank, _ in starts}, reverse=True)
    levels = {rank: min(level, DEEPEST_HEADING) for level, rank in enumerate(ranks, start=1)}
    return {(number, at): (levels[rank], count) for number, at, rank, count in starts}


def _without_labels(starts: _Starts, pages: Sequence[_Lines]) -> _Starts:
    """Bold lines of the text's size that occur often, such as `Learning Objectives`, are labels and no headings."""
    texts = {(number, at): line.text.strip() for number, lines in enumerate(pages) for at, line in lines}
    often = Counter(texts[number, at] for number, at, rank, _ in starts if rank == 1)
    return [one for one in starts if one[2] > 1 or often[texts[one[0], one[1]]] < _FEWEST_LABELS]


def _with_numbers(starts: _Starts, pages: Sequence[_Lines]) -> _Starts:
    """The number of a chapter that stands alone is a part of the heading that follows it."""
    joined: _Starts = []
    for number, at, rank, count in starts:
        before, first, _, lines = joined[-1] if joined else (None, 0, 0.0, 0)
        between = [line.text.strip() for place, line in pages[number] if first <= place < at]
        if before == number and len(between) == lines == 1 and _ONLY_NUMBER.fullmatch(between[0]):
            joined[-1] = (number, first, rank, 1 + count)
        else:
            joined.append((number, at, rank, count))
    return joined


def _rank(line: PdfLine, body: float) -> float:
    """The size of a heading in sizes of the text; 1 for a bold line of the text's size, 0 for no heading."""
    text = line.text.strip()
    if line.is_fixed or len(text) > _LONGEST_HEADING or not any(map(str.isalpha, text)):
        return 0.0
    if _BULLET.match(text) or _has_leaders(text):
        return 0.0
    if line.size >= _LARGER * body:
        return round(line.size / body, 1)
    is_title = line.is_bold and line.size >= 0.95 * body and not text.endswith((".", ",", ";", ":"))
    return 1.0 if is_title and len(text) <= _LONGEST_HEADING / 2 else 0.0


def _headings_by_outline(pages: Sequence[_Lines], toc: Sequence[TocEntry]) -> _Headings:
    """Each entry of the outline at the first place of its page where its title stands, alone in one or more lines."""
    found: _Headings = {}
    for entry in toc:
        if entry.page is None or not 0 < entry.page <= len(pages):
            continue
        number, keys = entry.page - 1, {title_key(entry.title), title_key(without_number(entry.title))} - {""}
        for at, count in _places_of(pages[number], keys):
            if (number, at) not in found:
                found[number, at] = (min(entry.level, DEEPEST_HEADING), count)
                break
    return found


def _places_of(lines: _Lines, keys: set[str]) -> Iterator[tuple[int, int]]:
    """The lines at which a title with one of these keys begins, and how many it has."""
    longest = max(map(len, keys), default=0)
    for place, (at, _) in enumerate(lines):
        text = ""
        for count, (_, line) in enumerate(lines[place : place + _MOST_LINES_OF_HEADING], start=1):
            text = f"{text} {line.text.strip()}".strip()
            if len(text) > 4 * longest + 40:
                break
            if {title_key(text), title_key(without_number(text))} & keys:
                yield at, count


def _markdown(block: _Block) -> list[str]:
    if block.level:
        return [f"{'#' * block.level} {block.lines[0]}"]
    if block.is_code:
        longest = max((len(run) for line in block.lines for run in re.findall("`{3,}", line)), default=2)
        fence = "`" * (longest + 1)
        return [fence, *_indented(block), fence]
    return block.lines


def _indented(block: _Block) -> list[str]:
    """Lines of code with the spaces that their places show, where the PDF has none."""
    width = sorted(block.widths)[len(block.widths) // 2]
    if width <= 0:
        return block.lines
    first = min(block.lefts)
    indents = (round((left - first) / width) for left in block.lefts)
    return [
        " " * min(_MOST_INDENT, max(indent, len(line) - len(line.lstrip()))) + line.strip()
        for indent, line in zip(indents, block.lines, strict=True)
    ]


def _item(text: str) -> str:
    """A first line of a block, without what would be markup; the mark of a list as markdown has it."""
    if bullet := _BULLET.match(text):
        return f"- {text[bullet.end() :]}"
    return without_markup(text)


def without_markup(text: str) -> str:
    """A paragraph whose beginning is not read as markup.

    >>> without_markup("# no heading"), without_markup("Tea")
    ('\\\\# no heading', 'Tea')
    """
    return f"\\{text}" if _MARKUP.match(text) else text
