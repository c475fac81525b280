"""Tables in terminals of every width: nothing is cut off."""

import io

import pytest
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from cli.fitting import FirstThatFits, FittingTable, folded
from cli.output import coloured, figure_table, plain_table


def drawn(table: RenderableType, width: int) -> list[str]:
    screen = Console(file=io.StringIO(), width=width)
    screen.print(table)
    assert isinstance(screen.file, io.StringIO)
    return [line.rstrip() for line in screen.file.getvalue().splitlines()]


def runs() -> RenderableType:
    table = plain_table("run", "kind", "asked for")
    table.add_row("r12", "participant", "the first three of the test split")
    table.add_row("r13", "query", "")
    return table


def test_a_table_that_needs_no_wrapping_looks_as_rich_draws_it() -> None:
    drawings = [filled(FittingTable()), filled(Table(box=None, pad_edge=False, header_style="bold"))]

    own, expected = ([*map(styled, Console(width=80).render_lines(table))] for table in drawings)

    assert own == expected


def filled(table: Table) -> Table:
    table.add_column("\nrun")
    table.add_column("state")
    table.add_column("mark", justify="center")
    table.add_column("MAE", justify="right", min_width=6)
    table.add_row("r1", coloured("failed"), Text("●", "green"), Text.assemble(("1.25", "bold"), "!"))
    table.add_row("r10 [bold]kept[/bold]", "数字 two", "-", "12345.5", style="dim")
    table.add_row("first\nsecond", Text("one line\n\nmore", "red"), "", "")
    return table


def styled(line: list[Segment]) -> tuple[str, list[str]]:
    """The text of a line, and the style of each character that is seen."""
    seen = [str(segment.style) for segment in line for character in segment.text if character != " "]
    return "".join(segment.text for segment in line).rstrip(), seen


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

    assert [drawn(FirstThatFits(table, "r12"), width)[-1] for width in (16, 15)] == ["r12  participant", "r12"]
