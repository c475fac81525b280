"""Tables in Markdown, as GitHub and Pandoc read them."""

import re
from collections.abc import Iterable

from cli.paper.table import PaperTable

_SPECIAL = re.compile(r"([\\`*_\[\]<>|&#~$])")


def as_markdown(tables: Iterable[PaperTable]) -> str:
    """Caption, table and notes of each."""
    return "\n".join(map(_table, tables))


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> escaped("a_b | <i>")
    'a\\_b \\| \\<i\\>'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.splitlines()))


def _table(table: PaperTable) -> str:
    lines = [
        f"**{escaped(table.caption)}**",
        "",
        _row(table.columns),
        f"| --- |{' ---: |' * (len(table.columns) - 1)}",
        *map(_row, table.rows),
        "",
        *(line for note in table.notes for line in (f"> {escaped(note)}", ">")),
    ]
    return "\n".join(lines[:-1]) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"
