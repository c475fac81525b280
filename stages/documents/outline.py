"""The headings of a document, beside its own table of contents."""

import re
import unicodedata
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Final

from schemas.values.documents import DocumentOutline, Heading, TocEntry
from stages.corpora.blocks import BlockKind, read_markdown

_NUMBER: Final = re.compile(
    r"(?:(?:chapter|part|appendix|section)\s(?:\d{1,4}|[ivxlc]{1,6}|[a-z])|\d{1,4}|[ivxlc]{1,6}(?=[.:)])|[a-z](?=\.))"
    r"(?:\.\d{1,4}){0,6}[.:)]?\s{1,9}",
    re.IGNORECASE,
)
_NOT_WORDS: Final = re.compile(r"[^\w]+")


def title_key(title: str) -> str:
    """What two writings of one title have in common: its letters and digits.

    >>> title_key("Tea  & Leaves") == title_key("tea and leaves".replace("and", "-"))
    True
    """
    return _NOT_WORDS.sub("", unicodedata.normalize("NFKC", title)).casefold()


def without_number(title: str) -> str:
    """A title without the number before it.

    >>> without_number("3.2 Leaves"), without_number("A.1. Pots"), without_number("I drink tea 3 a day")
    ('Leaves', 'Pots', 'I drink tea 3 a day')
    """
    title = title.strip()
    number = _NUMBER.match(title)
    return title if number is None else title[number.end() :]


def outline(markdown: str, toc: Sequence[TocEntry]) -> DocumentOutline:
    """The headings of the markdown, each with the level of the first entry of its title that is still free."""
    free: dict[str, deque[int]] = defaultdict(deque)
    for place, entry in enumerate(toc):
        free[title_key(without_number(entry.title))].append(place)
    headings = []
    met: set[int] = set()
    for block in read_markdown(markdown).blocks:
        if block.kind is not BlockKind.HEADING:
            continue
        places = free[title_key(without_number(block.text))]
        found = places.popleft() if places else None
        if found is not None:
            met.add(found)
        headings.append(
            Heading(
                line=block.start_line,
                level=block.level,
                text=" ".join(block.text.split()),
                toc_level=None if found is None else toc[found].level,
            )
        )
    missing = tuple(entry for place, entry in enumerate(toc) if place not in met)
    return DocumentOutline(headings=tuple(headings), missing=missing)
