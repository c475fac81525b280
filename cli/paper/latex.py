"""Tables in LaTeX, which need no package."""

import re
from collections.abc import Iterable

from cli.paper.table import PaperTable

_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",
        "\n": " ",
        "\r": " ",
    }
)
_MINUS = re.compile(r"(?<![\w.])-(?=\d)")


def as_latex(tables: Iterable[PaperTable]) -> str:
    """One float per table. Its notes are rows of the table itself, so that they cannot be left behind."""
    return "\n".join(map(_table, tables))


def latex_escaped(text: str) -> str:
    r"""Text that LaTeX shows as it is.

    >>> latex_escaped("50 % of a_b: -0.5 [x]")
    '50 \\% of a\\_b: $-$0.5 {[}x]'
    """
    return _MINUS.sub("$-$", text.translate(_ESCAPES))


def _table(table: PaperTable) -> str:
    width = len(table.columns)
    notes = [rf"\multicolumn{{{width}}}{{p{{0.9\linewidth}}}}{{\footnotesize {latex_escaped(note)}}}" for note in table.notes]
    lines = [
        r"\begin{table}",
        rf"\caption{{{latex_escaped(table.caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * (width - 1)}}}",
        r"\hline",
        rf"{_row(table.columns)} \hline",
        *map(_row, table.rows),
        r"\hline",
        *(rf"{note} \\" for note in notes),
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return " & ".join(map(latex_escaped, cells)) + r" \\"
