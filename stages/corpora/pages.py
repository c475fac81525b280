"""The pages of a document that lines of its markdown stand on."""

from bisect import bisect_right
from collections.abc import Sequence


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
