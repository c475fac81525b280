"""Filters of short chunks (row B 2)."""

import pytest

from tests.stages.at_defaults import drop_short
from tests.stages.queries.builders import chunk


def words(count: int, *, chars: int = 1) -> str:
    """That many words of that many letters."""
    return " ".join(["x" * chars] * count)


@pytest.mark.parametrize(
    ("content", "dropped"),
    [
        (words(150), {}),  # 299 characters
        (words(149, chars=2), {"min_words": 1}),
        (words(150)[:249], {"min_chars": 1}),
        ("x" * 250, {"min_words": 1}),
        (" \n\t ", {"blank": 1}),
        ("", {"blank": 1}),
    ],
)
def test_b2_chunks_have_at_least_150_words_and_250_characters(content: str, dropped: dict[str, int]) -> None:
    filtered = drop_short([chunk(1, content)])

    assert filtered == ([] if dropped else [chunk(1, content)], dropped, {})


def test_b2_exactly_250_characters_are_kept() -> None:
    content = words(125) + "x"

    assert (len(content), drop_short([chunk(1, content)], min_words=0).kept) == (250, [chunk(1, content)])


def test_b2_a_limit_of_0_switches_a_filter_off_but_blank_chunks_are_always_dropped() -> None:
    chunks = [chunk(1, "short"), chunk(2, "  ")]

    assert drop_short(chunks, min_chars=0, min_words=0) == ([chunks[0]], {"blank": 1}, {})
    assert drop_short(chunks, min_chars=0, min_words=2) == ([], {"blank": 1, "min_words": 1}, {})
    assert drop_short(chunks, min_chars=6, min_words=0) == ([], {"blank": 1, "min_chars": 1}, {})


def test_short_chunks_are_kept_when_nothing_longer_was_found_and_counted() -> None:
    chunks = [chunk(1, "x" * 250), chunk(2, " "), chunk(3, "short")]

    filtered = drop_short(chunks, keep_if_all_short=True)

    assert filtered == ([chunks[0], chunks[2]], {"blank": 1}, {"min_words": 1, "min_chars": 1})
