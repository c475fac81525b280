"""Markdown split into blocks: headings, text, tables and figures, each with its lines."""

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

from stages.texts.characters import commonmark

#: Headings of a deeper level are text.
DEEPEST_HEADING = 5

#: What generators of documentation write into the link of a heading to itself.
_PERMALINKS = ("", "#", "¶", "§", "🔗", "\uf0c1", "Permalink", "permalink")


class BlockKind(Enum):
    """The kind of a block."""

    HEADING = auto()
    TEXT = auto()
    TABLE = auto()
    FIGURE = auto()


class Block(NamedTuple):
    """A block of markdown. Lines are 1-based and inclusive."""

    kind: BlockKind
    start_line: int
    end_line: int
    text: str
    """A heading without its markup, HTML and permalinks; markdown for everything else. Text is as written, without list
    bullets and quote marks; its lines correspond to those of the block if there are as many."""
    level: int = 0
    """1 to 5 for a heading, else 0."""
    rows: tuple[tuple[str, ...], ...] = ()
    """The words of the cells of a table by row, its header first; of a figure one row, with the descriptions of its
    images."""


class MarkdownDocument(NamedTuple):
    """A parsed work."""

    front_matter: str
    """The text between the markers; empty if there is none."""
    blocks: tuple[Block, ...]
    lines: tuple[str, ...]


def read_markdown(markdown: str) -> MarkdownDocument:
    """The blocks of a work in order. Code is text, and so is every line without a meaning in markdown. Paragraphs, list
    items and quotes are blocks of their own. A figure is a paragraph of images and nothing else."""
    lines = lines_of(markdown)
    tokens = _parser().parse(markdown)
    blocks: list[Block] = []
    covered = 0
    front_matter = ""
    for token, inner in _top_level(tokens):
        start, end = _lines(token, lines)
        blocks += _left_over(lines, covered + 1, start - 1)
        covered = max(covered, end)
        if token.type == "front_matter":
            front_matter = token.content
        elif token.type != "hr":
            blocks += _blocks(token, inner, start, end, lines)
    blocks += _left_over(lines, covered + 1, len(lines))
    return MarkdownDocument(front_matter, tuple(blocks), tuple(lines))


@cache
def _parser() -> MarkdownIt:
    return commonmark().enable("table").use(front_matter_plugin)


def _top_level(tokens: Sequence[Token]) -> Iterator[tuple[Token, Sequence[Token]]]:
    """Each block of the outermost level with the tokens inside it."""
    opened = 0
    for place, token in enumerate(tokens):
        if token.level:
            continue
        if token.nesting == 0:
            yield token, ()
        elif token.nesting == 1:
            opened = place
        else:
            yield tokens[opened], tokens[opened + 1 : place]


def _blocks(token: Token, inner: Sequence[Token], start: int, end: int, lines: Sequence[str]) -> list[Block]:
    match token.type:
        case "heading_open" if int(token.tag[1]) <= DEEPEST_HEADING:
            # Paths of headings are joined by ` > `.
            words = _heading(inner[0]).replace(" > ", " › ")
            return [Block(BlockKind.HEADING, start, end, words, int(token.tag[1]))]
        case "table_open":
            return [Block(BlockKind.TABLE, start, end, passage(lines, start, end), rows=_rows(inner))]
        case "paragraph_open" if images := _images(inner[0]):
            return [Block(BlockKind.FIGURE, start, end, passage(lines, start, end), rows=(images,))]
        case "bullet_list_open" | "ordered_list_open" | "blockquote_open":
            parts = [part for part in inner if part.content.strip()]
            texts = [Block(BlockKind.TEXT, *_lines(part, lines), part.content.strip("\n")) for part in parts]
            if texts:
                return _tiled(texts, start, end)
    return [Block(BlockKind.TEXT, start, end, passage(lines, start, end))]


def _tiled(parts: Sequence[Block], start: int, end: int) -> list[Block]:
    """The parts of a list or quote, extended so that every line of it belongs to one."""
    starts = [start, *(part.start_line for part in parts[1:])]
    ends = [max(start, following - 1) for start, following in pairwise(starts)]
    return [
        part._replace(start_line=first, end_line=max(last, part.end_line))
        for part, first, last in zip(parts, starts, [*ends, end], strict=True)
    ]


def _left_over(lines: Sequence[str], start: int, end: int) -> list[Block]:
    """Lines that belong to no block, such as definitions of links."""
    return [
        Block(BlockKind.TEXT, number, number, lines[number - 1])
        for number in range(start, end + 1)
        if lines[number - 1].strip()
    ]


def _lines(token: Token, lines: Sequence[str]) -> tuple[int, int]:
    assert token.map is not None
    start, end = token.map[0] + 1, min(token.map[1], len(lines))
    while end > start and not lines[end - 1].strip():
        end -= 1
    return start, end


def _images(inline: Token) -> tuple[str, ...]:
    """The descriptions of the images of a paragraph; none where it has more than images."""
    inside = [child for child in inline.children or () if child.content.strip() or child.type == "image"]
    return tuple(child.content for child in inside) if all(child.type == "image" for child in inside) else ()


def _rows(inner: Sequence[Token]) -> tuple[tuple[str, ...], ...]:
    rows: list[list[str]] = []
    for token in inner:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_words(token.children or ()))
    return tuple(map(tuple, rows))


def _heading(inline: Token) -> str:
    kept: list[Token] = []
    for child in inline.children or ():
        if child.type == "link_close":
            opened = max(at for at, token in enumerate(kept) if token.type == "link_open")
            if "".join(token.content for token in kept[opened:]).strip() in _PERMALINKS:
                del kept[opened:]
                continue
        if child.type != "html_inline":
            kept.append(child)
    words = _words(kept)
    return words.removesuffix("¶").rstrip() or words


def _words(tokens: Sequence[Token]) -> str:
    words = "".join(
        " " if child.type in ("softbreak", "hardbreak") else child.content
        for child in tokens
        if child.type in ("text", "code_inline", "image", "softbreak", "hardbreak", "html_inline")
    )
    return " ".join(words.split())


_LINE_END = re.compile(r"\r\n?|\n")


def lines_of(markdown: str) -> list[str]:
    """The lines without line ends, as markdown counts them. No empty line is counted after the last line end.

    >>> lines_of("# Tea\\n\\nLeaves.\\n")
    ['# Tea', '', 'Leaves.']
    """
    lines = _LINE_END.split(markdown)
    return lines if lines[-1] else lines[:-1]


def passage(lines: Sequence[str], start_line: int, end_line: int) -> str:
    """The lines from `start_line` to `end_line`, joined by line feeds; those beyond the last one are ignored.

    >>> passage(["# Tea", "", "Leaves."], 1, 2)
    '# Tea\\n'
    """
    return "\n".join(lines[max(start_line - 1, 0) : end_line])
