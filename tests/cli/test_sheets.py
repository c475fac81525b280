"""Tables for a paper."""

import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from cli.sheets import as_latex, as_markdown
from cli.sheets import latex_escaped as latex
from stages.reports.tables import Table

HOSTILE = "50 % of a_b & c | {x} \\end{table} <i>$1$</i> [y](z) `k` ~ ^ #\nnext"


def test_hostile_text_stays_text() -> None:
    table = Table(HOSTILE, (HOSTILE, "a"), ((HOSTILE, "-1"),), (HOSTILE,))

    written, shown = as_latex([table]), MarkdownIt().enable("table").render(as_markdown([table]))

    assert (written.count(r"\end{table}"), written.count(r"\end{tabular}")) == (1, 1)
    assert re.findall(r"(?<!\\)[%#]", written) == []
    assert written.count("\n") == len(written.splitlines()) == 10
    assert shown.count("<tr>") == 2
    assert "<i>" not in shown and "<a" not in shown and "<code>" not in shown
    assert shown.count("50 % of a_b &amp; c | {x} \\end{table} &lt;i&gt;$1$&lt;/i&gt; [y](z) `k` ~ ^ # next") == 4


@given(st.text(alphabet="abc 1-&%$#_{}\\~^<>|[]\n"))
def test_braces_balance_and_specials_are_escaped_in_latex(text: str) -> None:
    written = latex(text)

    bare = re.sub(r"\\[&%$#_{}]", "", written)
    assert bare.count("{") == bare.count("}")
    assert re.findall(r"[&%#_]", bare) == []
    assert bare.count("$") % 2 == 0
