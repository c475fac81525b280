"""The sections of a work: the content under each heading."""

from dataclasses import dataclass, field
from typing import NamedTuple

from stages.corpora.blocks import DEEPEST_HEADING, Block, BlockKind, MarkdownDocument

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
