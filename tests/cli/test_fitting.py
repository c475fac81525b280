"""Tables in terminals of every width: nothing is cut off."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.text import Text as RichText

from cli.drawing import Drawing, FirstThatFits, FittingTable, Text, columns, figure_table, folded, plain_table
from cli.fitting import Laid

HEADINGS = ("\nrun", "state", "mark", "MAE")
ROWS = (
    ((("r1", ""),), (("failed", "red"),), (("●", "green"),), (("1.25", "bold"), ("!", ""))),
    ((("r10 [bold]kept[/bold]", ""),), (("数字 two", ""),), (("-", ""),), (("12345.5", ""),)),
    ((("first\nsecond", ""),), (("one line\n\nmore", "red"),), (("", ""),), (("", ""),)),
)
STYLES = ("", "dim", "bold")


def drawn(drawing: Drawing, width: int) -> list[str]:
    screen = Console(file=io.StringIO(), width=width)
    screen.print(Laid(drawing))
    assert isinstance(screen.file, io.StringIO)
    return [line.rstrip() for line in screen.file.getvalue().splitlines()]


def runs() -> FittingTable:
    table = plain_table("run", "kind", "asked for")
    table.add_row("r12", "participant", "the first three of the test split")
    table.add_row("r13", "query", "")
    return table


def test_a_table_that_needs_no_wrapping_looks_as_rich_draws_it() -> None:
    own = FittingTable(*HEADINGS[:2])
    own.add_column(HEADINGS[2], justify="center")
    own.add_column(HEADINGS[3], justify="right", min_width=6)
    expected = Table(*HEADINGS[:2], box=None, pad_edge=False, header_style="bold")
    expected.add_column(HEADINGS[2], justify="center")
    expected.add_column(HEADINGS[3], justify="right", min_width=6)
    for cells, style in zip(ROWS, STYLES, strict=True):
        own.add_row(*(Text.assemble(*parts) for parts in cells), style=style)
        expected.add_row(*(RichText.assemble(*parts) for parts in cells), style=style)

    lines = own.drawn(80)

    assert lines is not None
    assert [as_seen(line.escaped()) for line in lines] == [as_seen(line) for line in in_terminal(expected)]


def in_terminal(table: Table, width: int = 80) -> list[str]:
    screen = Console(file=io.StringIO(), width=width, force_terminal=True, color_system="standard", _environ={})
    screen.print(table)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue().splitlines()


def as_seen(line: str) -> tuple[str, list[str]]:
    """The text of a line with escape sequences, and the style of each character that is seen."""
    text = RichText.from_ansi(line)
    styles = [str(text.get_style_at_offset(Console(), place)) for place, sign in enumerate(text.plain) if sign != " "]
    return text.plain.rstrip(), styles


def test_words_move_no_cursor_and_choose_no_colour() -> None:
    hostile = Text("\x1b[2J\x9b31mred\x07 \u202eand\u2066\r gone\x7f\nnext")

    assert [line.escaped() for line in hostile.lines()] == ["␛[2J�31mred␇ �and�␍ gone�", "next"]
    assert drawn(hostile, 80) == ["␛[2J�31mred␇ �and�␍ gone�", "next"]


@given(
    cells=st.lists(
        st.lists(st.tuples(st.text("ab 数●\n", max_size=40), st.sampled_from(["", "red", "bold"])), max_size=3),
        min_size=1,
        max_size=4,
    ),
    width=st.integers(36, 60),
)
def test_one_column_of_words_is_wrapped_as_rich_wraps_it(cells: list[list[tuple[str, str]]], width: int) -> None:
    own, expected = FittingTable("run"), Table("run", box=None, pad_edge=False, header_style="bold")
    own.add_column("words")
    expected.add_column("words", overflow="fold")
    for name in ("kind", "jobs"):
        own.add_column(name)
        expected.add_column(name, no_wrap=True)
    for number, parts in enumerate([[("at least one line that is wrapped", "")], *cells]):
        own.add_row(f"r{number}", Text.assemble(*parts), "query", "3")
        expected.add_row(f"r{number}", RichText.assemble(*parts), "query", "3")

    lines = own.drawn(width)

    if lines is not None:
        assert [as_seen(line.escaped()) for line in lines] == [as_seen(line) for line in in_terminal(expected, width)]
    else:
        texts = ("".join(words for words, _ in parts) for parts in cells)
        assert any(columns(word) > width - len("run") - len("kind jobs") - 6 for text in texts for word in text.split())


@pytest.mark.parametrize("words", ["averylongwordlongerthan twenty columns", "a\ttab", "二十を超える幅の行である"])
def test_a_word_that_has_no_room_or_a_tab_is_left_to_rich(words: str) -> None:
    table = plain_table("words")
    table.add_row(words)

    assert Text(words).drawn(20) is None
    assert table.drawn(20) is None


def test_texts_are_wrapped_and_other_columns_are_whole() -> None:
    assert drawn(runs(), 40) == [
        "run  kind         asked for",
        "r12  participant  the first three of the",
        "                  test split",
        "r13  query",
    ]


def test_a_list_that_is_too_wide_shows_a_row_below_the_other_without_empty_cells() -> None:
    assert drawn(runs(), 30) == [
        "run        r12",
        "kind       participant",
        "asked for  the first three of",
        "           the test split",
        "",
        "run   r13",
        "kind  query",
        "",
    ]


def test_figures_that_are_too_wide_are_split_by_columns_after_the_first() -> None:
    table = figure_table("item", "zero_shot MAE", "few_shot MAE", "N/A")
    table.add_row("Sleep", "1.000", "0.500", "12")

    assert drawn(table, 24) == [
        "item   zero_shot MAE",
        "Sleep          1.000",
        "",
        "item   few_shot MAE  N/A",
        "Sleep         0.500   12",
    ]


@pytest.mark.parametrize("width", [10, 16, 20, 40, 80, 160])
def test_no_cell_is_cut_off_at_any_width(width: int) -> None:
    table = plain_table("name", folded("path", 8))
    table.add_row("log", "/var/lib/ragq/logs/a-very-long-name-of-a-worker.log")
    figures = figure_table("a", *(f"column {number}" for number in range(9)))
    figures.add_row(*map(str, range(10)))

    assert "…" not in "".join(drawn(table, width) + (drawn(figures, width) if width >= 12 else []))


def test_the_narrower_layout_is_taken_where_the_table_has_no_room() -> None:
    table = plain_table("run", "kind")
    table.add_row("r12", "participant")

    assert [drawn(FirstThatFits(table, Text("r12")), width)[-1] for width in (16, 15)] == ["r12  participant", "r12"]
