"""What is searched of tables and figures: cells with their headers' names, descriptions of images, and captions."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from stages.corpora.blocks import Block, BlockKind
from stages.corpora.measures import Measure
from stages.corpora.packing import ChunkSize, pack
from stages.corpora.sentences import Sentence

_LABELS: Final = {
    BlockKind.TABLE: "tab|cuadro|quadro|табл|表",
    BlockKind.FIGURE: "fig|abb|afb|ill|рис|图|図",
}
_CAPTIONS: Final = {
    kind: re.compile(rf":\s|\W{{0,4}}(?:{labels})\w{{0,12}}\.?\s{{0,3}}[a-z]?\.?\d", re.IGNORECASE)
    for kind, labels in _LABELS.items()
}
_LONGEST_NAME: Final = 80
"""Characters of a header's name, which is repeated in each row."""


def captions(blocks: Sequence[Block]) -> dict[int, Block]:
    """The captions of the tables and figures of a section, by their places among its blocks.

    A caption is a text just before or after, which begins as `Table 1` or `Fig. 2.3` do, or with a colon. No text is
    the caption of two.
    """
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


def searched_texts(block: Block, caption: Block | None, *, size: ChunkSize, measure: Measure) -> list[str]:
    """The texts of the chunks by which a table or a figure is found, each below its caption.

    None for a table without words and for a figure without a description, whose caption is found as text.
    """
    title, lines = (
        _table(block.rows) if block.kind is BlockKind.TABLE else ("", [_ended(cell) for cell in block.rows[0]])
    )
    above = " ".join(filter(None, (_ended("" if caption is None else caption.text), _ended(title))))
    above = next(measure.pieces(above, size.most // 2))
    left = replace(size.without(measure.length(above)), overlap=0)
    parts = [
        Sentence(piece, block.start_line, block.end_line, measure.length(piece))
        for line in lines
        for piece in measure.pieces(line, left.most)
        if line
    ]
    return [" ".join([above, *(part.text for part in chunk)]).strip() for chunk in pack(parts, left)]


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
