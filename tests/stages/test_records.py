"""Delimited files, and the list of what is wrong with one."""

import pytest

from schemas.values.participants import FileProblem
from stages.records import Parsed, ProblemsFound, accept, parse_rows


def problems_of(data: bytes, *, by_tabs: bool = False) -> list[tuple[int | None, str]]:
    found = parse_rows(data, file="a.csv", by_tabs=by_tabs, columns=("id", "word")).problems
    return [(problem.line, problem.found) for problem in found]


def test_a_stray_double_quote_in_tabs_swallows_no_row() -> None:
    data = b'id\tword\n1\t"so\n2\the said "no" and\n'
    rows = parse_rows(data, file="a.csv", by_tabs=True, columns=("word",)).value
    assert [cells["word"] for _, cells in rows] == ['"so', 'he said "no" and']


def test_unknown_columns_are_left_out_and_short_rows_filled() -> None:
    rows = parse_rows(b"age,id,word\n9,1\n", file="a.csv", columns=("id", "word")).value
    assert rows == ((2, {"id": "1", "word": ""}),)


def test_every_line_that_cannot_be_used_is_reported() -> None:
    assert problems_of(b"id,word\n1,\xff\n") == [(2, "is not UTF-8")]
    assert [line for line, _ in problems_of(b'id,word\n1,"a\n')] == [2]
    assert [line for line, _ in problems_of(b"id\tword\n1\ta\rb\n", by_tabs=True)] == [2]


def test_of_a_million_problems_the_first_are_listed() -> None:
    with pytest.raises(ProblemsFound) as refusal:
        accept(Parsed(7, (FileProblem("a.csv", 3, "is odd", "make it even"),) * 1_000_000))
    assert len(str(refusal.value).splitlines()) == 22
    assert str(refusal.value).endswith("  a.csv:3: is odd; make it even\n  and 999980 more")
