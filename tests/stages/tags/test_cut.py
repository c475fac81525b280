"""Cutting the list of one phrase."""

import pytest

from stages.tags.cut import cut
from tests.stages.tags.builders import seen

RANKED = [seen(tag, combined) for tag, combined in (("a", 0.9), ("b", 0.8), ("c", 0.7), ("d", 0.6))]


@pytest.mark.parametrize(
    ("required", "places", "kept"),
    [
        ((), 2, "ab"),
        (("b",), 2, "ab"),
        (("d",), 2, "ad"),  # d takes the place of b
        (("c", "d"), 2, "cd"),  # both places
        (("b", "c", "d"), 2, "bcd"),  # the list grows
        (("d",), 9, "abcd"),
        ((), 1, "a"),
    ],
)
def test_required_tags_take_the_last_places_that_are_free(required: tuple[str, ...], places: int, kept: str) -> None:
    assert "".join(row.tag for row in cut(RANKED, required=required, per_phrase_final_k=places)) == kept
