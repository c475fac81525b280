"""What the length of a chunk is measured in: words, or the tokens of an embedder."""

import re
from collections.abc import Iterator
from typing import Protocol

_LINK_TARGET = re.compile(r"\]\([^)\s]{0,2000}(?:\s{1,10}\"[^\"]{0,500}\")?\)")
"""Of limited length: without an end, each of many beginnings would be followed to the end of the text."""


class Measure(Protocol):
    """Measures texts. The length of texts joined by spaces is the sum of their lengths."""

    def length(self, text: str) -> int:
        """The length of a text without line ends."""
        ...

    def pieces(self, text: str, most: int) -> Iterator[str]:
        """A text that may be longer than `most` in pieces that are not, in order."""
        ...

    def around(self, headings: str | None) -> int:
        """What a chunk under this path of headings has in addition to its content."""
        ...


class Words:
    """Words of the content; headings do not count."""

    def length(self, text: str) -> int:
        """See count_words."""
        return count_words(text)

    def pieces(self, text: str, most: int) -> Iterator[str]:
        """Parts between spaces are counted, whether or not they are words."""
        parts = text.split(" ")
        if len(parts) <= most:
            yield text
            return
        for start in range(0, len(parts), most):
            yield " ".join(parts[start : start + most])

    def around(self, headings: str | None) -> int:
        """Nothing."""
        return 0


def count_words(markdown: str) -> int:
    """The number of words of a text, without link targets; a word has at least one letter or digit.

    >>> count_words("- see [the **leaf**](http://example.org/a/b) - twice")
    4
    """
    return sum(any(map(str.isalnum, part)) for part in _LINK_TARGET.sub("]", markdown).split())
