"""Lines of a work: line numbers are 1-based, inclusive, and refer to the stored markdown."""

import re
from collections.abc import Sequence

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
