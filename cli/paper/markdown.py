"""Tables in Markdown, as GitHub and Pandoc read them."""

import re
from collections.abc import Iterable

from cli.paper.table import PaperTable

_SPECIAL = re.compile(r"([\\`*_\[\]<>|&#~$])")


def as_markdown(tables: Iterable[PaperTable]) -> str:
    """Caption, table and notes of each."""
    return "\n".join(map(_table, tables))


def markdown_escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> markdown_escaped("a_b | <i>")
    'a\\_b \\| \\<i\\>'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.splitlines()))


def _table(table: PaperTable) -> str:
    lines = [
        f"**{markdown_escaped(table.caption)}**",
        "",
        _row(table.columns),
        f"| --- |{' ---: |' * (len(table.columns) - 1)}",
        *map(_row, table.rows),
        "",
        *(line for note in table.notes for line in (f"> {markdown_escaped(note)}", ">")),
    ]
    return "\n".join(lines[:-1]) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(markdown_escaped, cells))} |"
