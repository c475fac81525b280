"""The most headings that a document can have, known before its stages run where it is text already."""

from typing import Final

from schemas.errors import DocumentError
from stages.corpora.lines import lines_of
from stages.documents.formats import DocumentFormat, format_of, holds_markdown

_UNDERLINES: Final = ({"="}, {"-"})


def most_headings(content: bytes, name: str) -> int | None:
    """The lines that can make a heading, before or after the headings are repaired.

    None for a document that is converted first, which has headings only then; 0 for one that cannot be. Each heading
    has one such line of its own: it begins with `#`, or consists of `=` or of `-`. A repair can make headings of lines
    that were none, such as those of an HTML block that the heading above it kept apart, so lines of code and rulers
    count too.

    >>> most_headings(b"# Tea\\n\\nLeaves\\n------\\n\\nBrown.\\n", "tea.md")
    2
    >>> most_headings(b"%PDF-1.7", "tea.pdf") is None
    True
    """
    try:
        if not holds_markdown(content, name) and format_of(content, name) is not DocumentFormat.TEXT:
            return None
    except DocumentError:
        return 0
    lines = (line.strip() for line in lines_of(content.decode("utf-8-sig", "replace")))
    return sum(line.startswith("#") or set(line) in _UNDERLINES for line in lines)
