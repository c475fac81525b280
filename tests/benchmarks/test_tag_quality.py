"""How hits are counted."""

import numpy as np

from benchmarks.tag_quality import Hits, measure, quality
from schemas.values.tags import Tag, Vocabulary
from tests.stages.tags.clothes import CLOTHES

TAGS = Vocabulary(tags=(Tag(name="a"), Tag(name="b")), aliases={"aa": ("a",), "ab": ("a",)})
"""The tokens are a, aa, ab and b."""


def hits(*rows: list[float], pairs: list[tuple[str, str]]) -> tuple[Hits, Hits]:
    found = quality("all", "given", TAGS, pairs, lambda _: np.array(rows), 0.0)
    return found.canonical, found.projected


def test_the_own_token_of_an_alias_never_helps_and_other_aliases_do() -> None:
    # aa has similarity 1 to itself, .9 to its other alias, and nearer to the wrong tag than to its own.
    canonical, projected = hits([0.1, 1.0, 0.9, 0.8], pairs=[("aa", "a")])

    assert (canonical.hit_1, projected.hit_1) == (0.0, 1.0)


def test_equal_similarities_count_against_the_method() -> None:
    canonical, _ = hits([0.5, 0.0, 0.0, 0.5], [0.5, 0.0, 0.0, 0.4], pairs=[("aa", "a"), ("ab", "a")])

    assert canonical == Hits(0.5, 1.0)


def test_a_tag_that_is_not_near_at_all_is_no_hit() -> None:
    assert hits([0.0, 0.0, 0.0, 0.0], pairs=[("aa", "a")])[0] == Hits(0.0, 0.0)


def test_every_method_is_measured_on_aliases_that_were_seen_and_on_those_that_were_not() -> None:
    found = measure(CLOTHES, seed=1, held_out_share=0.5)

    assert [(row.aliases, row.method, row.pairs) for row in found] == [
        ("seen", "fasttext", 4),
        ("seen", "char tf-idf", 4),
        ("held out", "fasttext", 2),
        ("held out", "char tf-idf", 2),
    ]
