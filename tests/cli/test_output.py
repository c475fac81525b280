"""What commands print: drawings for terminals of every width and pipes, and tables for a paper."""

import fcntl
import io
import os
import pty
import re
import select
import struct
import sys
import termios

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console
from rich.table import Column

from cli.output import Drawing, FittingTable, Text, Trimmed, coloured, draw, figure_table
from cli.sheets import as_latex, as_markdown
from cli.sheets import latex_escaped as latex
from stages.reports.tables import Table


def words_in_a_terminal(monkeypatch: pytest.MonkeyPatch, *parts: Drawing | str) -> str:
    """What a terminal of 30 columns gets of what is drawn."""
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
    with os.fdopen(terminal, "w") as stream, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", stream)
        draw(*parts)
        stream.flush()
        seen = b""
        while select.select([master], [], [], 0.2)[0]:
            seen += os.read(master, 10_000)
    os.close(master)
    return seen.decode().replace("\r\n", "\n")


def a_state() -> FittingTable:
    table = FittingTable("job", "status")
    table.add_row("j1", coloured("failed"))
    return table


@pytest.fixture(autouse=True)
def _of_an_ordinary_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def test_a_terminal_gets_colours_where_it_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert words_in_a_terminal(monkeypatch, a_state(), "done") == (
        "\x1b[1mjob\x1b[0m\x1b[1m \x1b[0m\x1b[1m \x1b[0m\x1b[1mstatus\x1b[0m\nj1   \x1b[31mfailed\x1b[0m\ndone\n"
    )
    for name, value in [("NO_COLOR", "1"), ("TERM", "dumb")]:
        with monkeypatch.context() as patched:
            patched.setenv(name, value)
            assert "[31m" not in words_in_a_terminal(patched, a_state())


def test_a_pipe_gets_wide_lines_and_colours_only_where_they_are_forced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draw(a_state(), "x" * 1_000)
    assert capsys.readouterr().out == f"job  status\nj1   failed\n{'x' * 1_000}\n"

    monkeypatch.setenv("FORCE_COLOR", "1")
    draw(a_state())
    assert "\x1b[31m" in capsys.readouterr().out


def drawn(drawing: Drawing, width: int) -> list[str]:
    screen = Console(file=io.StringIO(), width=width, markup=False, emoji=False)
    screen.print(Trimmed(drawing))
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue().split("\n")[:-1]


def test_words_and_cells_control_nothing_and_texts_alone_are_wrapped() -> None:
    table = FittingTable("[bold]run")
    table.add_row("r10 [red]kept[/red]")
    runs = FittingTable("run", "kind", "asked for")
    runs.add_row("r12", "participant", "the first three of the test split")
    runs.add_row("r13", "query", "")

    hostile = Text("\x1b[2J\x9b31mred\x07 \u202eand\u2066\r gone\x7f\nnext")
    assert drawn(hostile, 80) == ["␛[2J�31mred␇ �and�␍ gone�", "next"]
    assert drawn(table, 80) == ["[bold]run", "r10 [red]kept[/red]"]
    assert drawn("[dim]words :smile:", 80) == ["[dim]words :smile:"]
    assert drawn(runs, 40) == [
        "run  kind         asked for",
        "r12  participant  the first three of the",
        "                  test split",
        "r13  query",
    ]


@pytest.mark.parametrize("width", [20, 40, 160])
def test_no_cell_is_cut_off_at_any_width(width: int) -> None:
    table = FittingTable("name", Column("path", min_width=8, overflow="fold"))
    table.add_row("log", "/var/lib/ragq/logs/a-very-long-name-of-a-worker.log")
    figures = figure_table("a", *(f"column {number}" for number in range(9)))
    figures.add_row(*map(str, range(10)))

    assert "…" not in "".join(drawn(table, width) + drawn(figures, width))


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
