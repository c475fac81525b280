"""How hits are counted, and what is asked."""

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.tag_quality import compared, inverted, measure, misspelt, ranks
from schemas.values.tags import Tag, Vocabulary
from stages.ports import Vectors
from tests.fakes.tags import FakeTokenVectors
from tests.stages.tags.clothes import CLOTHES

TAGS = Vocabulary(tags=(Tag(name="a"), Tag(name="b")), aliases={"aa": ("a",), "ab": ("a",)})
TOKENS = ["a", "aa", "ab", "b"]


def rank(*rows: list[float], pairs: list[tuple[str, str]]) -> list[int]:
    found: list[int] = ranks(np.array(rows), TAGS, TOKENS, pairs).tolist()
    return found


def encode(texts: Sequence[str]) -> Vectors:
    vectors = FakeTokenVectors(dimension=8).vectors_of(texts)
    return np.array([vectors[text] for text in texts])


def test_the_own_token_of_an_alias_never_helps_and_other_aliases_do() -> None:
    # aa has similarity 1 to itself; its tag is near by the other alias alone.
    assert rank([0.1, 1.0, 0.9, 0.8], pairs=[("aa", "a")]) == [1]
    assert rank([0.1, 1.0, 0.7, 0.8], pairs=[("aa", "a")]) == [2]


def test_equal_similarities_count_against_the_method_and_0_is_not_near() -> None:
    assert rank([0.5, 0.0, 0.0, 0.5], [0.5, 0.0, 0.0, 0.4], pairs=[("aa", "a"), ("ab", "a")]) == [2, 1]
    assert rank([0.0, 0.0, 0.0, 0.0], pairs=[("aa", "a")]) == [3]


def test_methods_are_compared_on_the_same_pairs() -> None:
    worse, best = compared("all", {"worse": np.array([1, 2, 20, 20]), "best": np.array([1, 1, 9, 20])}, best="best")

    assert (worse.hit_1.value, worse.hit_10.value) == (0.25, 0.5)
    assert (best.hit_1.value, best.hit_10.value, best.less_1) == (0.5, 0.75, None)
    assert worse.less_1 is not None
    assert (worse.less_1.value, worse.less_1.low) == (0.25, 0.0)
    assert worse.less_1.high == pytest.approx(0.75)


def test_a_misspelt_name_differs_in_one_place_and_a_heading_in_the_order_of_words() -> None:
    names = ["cancer of the skin", "breast cancer", "flu", "measles"]

    wrong = misspelt(names, {"measles"}, seed=1)
    assert {name for _, name in wrong} == {"cancer of the skin", "breast cancer", "measles"}
    assert all(1 <= sum(a != b for a, b in zip(one, name, strict=True)) <= 2 for one, name in wrong)
    turned = dict(inverted(names, set(), seed=1))
    assert set(turned.values()) == {"cancer of the skin", "breast cancer"}
    assert "cancer,_breast" in turned


def test_every_method_is_measured_on_everything_that_is_asked() -> None:
    found = measure(CLOTHES, encode, seed=1, held_out_share=0.5, half=None)

    asked = {(row.lookups, row.pairs) for row in found.rows}
    assert asked >= {("seen aliases", 4), ("held-out aliases", 2)}
    assert {row.method for row in found.rows if row.lookups == "seen aliases"} == {
        "FastText alone (original)",
        "characters",
        "sentence",
        "spelling",
        "fused",
    }
    by_chain = {row.method: row.hit_1.value for row in found.rows if row.lookups == "misspelt names, chain"}
    assert by_chain["fused"] > 0.8
    assert found.tokens == 12
