"""The labels that an answer cites."""

import re
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from stages.texts.characters import commonmark

ANSWER_MARKDOWN = commonmark().disable(["link", "image", "reference", "autolink", "html_inline", "html_block", "code"])
"""Labels are not links, whatever follows them, and indented lines of an answer are not code."""

CITATION: Final = re.compile(r"\[(S[1-9]\d*(?:\s*[,;]\s*S[1-9]\d*)*)\]")
"""`[S1]`, or `[S1, S2]`."""

LABEL: Final = re.compile(r"S\d+")
"""One label of a citation."""


class Citations(NamedTuple):
    """Labels in order of first mention, each once."""

    known: tuple[str, ...]
    """Labels of sources in the prompt."""
    unknown: tuple[str, ...]
    """Other labels."""


def citations(answer: str, labels: Collection[str]) -> Citations:
    """The labels that an answer in markdown cites: `[S1]`, or `[S1, S2]` for several. Labels in code do not count.

    >>> citations("So it is [S2][S9], though not `x[S1]`.", ["S1", "S2"])
    Citations(known=('S2',), unknown=('S9',))
    """
    cited = dict.fromkeys(
        label for text in _texts(answer) for found in CITATION.findall(text) for label in LABEL.findall(found)
    )
    return Citations(
        tuple(label for label in cited if label in labels), tuple(label for label in cited if label not in labels)
    )


def _texts(markdown: str) -> Iterator[str]:
    """The running text of each block, without its code."""
    for block in ANSWER_MARKDOWN.parse(markdown):
        yield "".join(part.content for part in block.children or () if part.type != "code_inline")
