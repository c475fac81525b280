"""Tables in terminals of every width: nothing is cut off."""

import io

import pytest
from rich.console import Console
from rich.table import Column

from cli.output import Drawing, FirstThatFits, FittingTable, Text, Trimmed, figure_table, plain_table


def drawn(drawing: Drawing, width: int) -> list[str]:
    screen = Console(file=io.StringIO(), width=width, markup=False, emoji=False)
    screen.print(Trimmed(drawing))
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue().split("\n")[:-1]


def runs() -> FittingTable:
    table = plain_table("run", "kind", "asked for")
    table.add_row("r12", "participant", "the first three of the test split")
    table.add_row("r13", "query", "")
    return table


def test_words_move_no_cursor_and_choose_no_colour() -> None:
    hostile = Text("\x1b[2J\x9b31mred\x07 \u202eand\u2066\r gone\x7f\nnext")

    assert drawn(hostile, 80) == ["␛[2J�31mred␇ �and�␍ gone�", "next"]


def test_nothing_in_words_or_cells_is_markup() -> None:
    table = plain_table("[bold]run")
    table.add_row("r10 [red]kept[/red]")

    assert drawn(table, 80) == ["[bold]run", "r10 [red]kept[/red]"]
    assert drawn("[dim]words :smile:", 80) == ["[dim]words :smile:"]


def test_texts_are_wrapped_and_other_columns_are_whole() -> None:
    assert drawn(runs(), 40) == [
        "run  kind         asked for",
        "r12  participant  the first three of the",
        "                  test split",
        "r13  query",
    ]


@pytest.mark.parametrize("width", [20, 40, 160])
def test_no_cell_is_cut_off_at_any_width(width: int) -> None:
    table = plain_table("name", Column("path", min_width=8, overflow="fold"))
    table.add_row("log", "/var/lib/ragq/logs/a-very-long-name-of-a-worker.log")
    figures = figure_table("a", *(f"column {number}" for number in range(9)))
    figures.add_row(*map(str, range(10)))

    assert "…" not in "".join(drawn(table, width) + drawn(figures, width))


def test_the_narrower_layout_is_taken_where_the_table_has_no_room() -> None:
    table = plain_table("run", "kind")
    table.add_row("r12", "participant")

    assert [drawn(FirstThatFits(table, Text("r12")), width)[-1] for width in (16, 15)] == ["r12  participant", "r12"]
