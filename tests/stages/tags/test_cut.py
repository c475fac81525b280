"""Cutting the list of one phrase."""

import pytest

from stages.tags.rerank import cut
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


@pytest.mark.parametrize(
    ("scores", "required", "kept"),
    [
        ((0.9, 0.6, 0.54, 0.53), (), "abc"),
        ((0.9, 0.8, 0.8, 0.8, 0.8, 0.8), (), "abcde"),
        ((0.9, 0.2, 0.1), ("c",), "c"),
        ((-0.1, -0.2), (), "a"),
        ((), (), ""),
    ],
)
def test_without_a_number_the_tags_near_the_best_are_kept(
    scores: tuple[float, ...], required: tuple[str, ...], kept: str
) -> None:
    ranked = [seen(tag, combined) for tag, combined in zip("abcdef", scores, strict=False)]
    assert "".join(row.tag for row in cut(ranked, required=required, per_phrase_final_k=None)) == kept
