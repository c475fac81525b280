"""Short chunks with the lines around them."""

from stages.queries.works import WorkText
from tests.stages.at_defaults import enriched_content
from tests.stages.queries.builders import chunk, numbered_lines

WORK = WorkText("Tea", "hash", numbered_lines(30))


def numbered(first: int, last: int) -> str:
    return "\n".join(f"line {number}" for number in range(first, last + 1))


def test_a_short_chunk_gets_13_lines_below_and_none_above() -> None:
    enriched = enriched_content(chunk(content="short", lines=(4, 5)), WORK)

    assert enriched == f"short\n\n{numbered(6, 18)}"


def test_lines_above_are_the_nearest_ones() -> None:
    enriched = enriched_content(chunk(content="short", lines=(4, 5)), WORK, lines_above=2, lines_below=1)

    assert enriched == "line 2\nline 3\n\nshort\n\nline 6"


def test_lines_beyond_the_ends_of_the_work_are_left_out() -> None:
    nearly_all = enriched_content(chunk(content="short", lines=(1, 28)), WORK, lines_above=9)

    assert nearly_all == f"short\n\n{numbered(29, 30)}"
    assert enriched_content(chunk(content="short", lines=(1, 30)), WORK, lines_above=9) == "short"
