"""Similarity of phrases to tokens and contexts, and what the models are trained on."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]

from schemas.values.tags import Tag, Vocabulary
from stages.ports import TokenQuery, Vector
from stages.tags.similarity import (
    CharacterModel,
    FusedSearch,
    TokenModel,
    at_length_1,
    context_score,
    context_vector,
    in_any_order,
    plain,
    spelling_scores,
    training_lists,
)
from tests.stages.tags.builders import at, candidates, context_model, vocabulary

NAMES = ("breast cancer", "heart diseases", "lung cancer", "cancer of the skin", "broken heart", "flu")


def search(sentences: Mapping[str, Vector], vectors: Mapping[str, Vector]) -> FusedSearch:
    tokens = sorted(vectors)
    model = TokenModel(digest="", tokens=tokens, vectors=np.array([vectors[token] for token in tokens]))
    return FusedSearch(model, at_length_1(np.array([sentences[token] for token in sorted(sentences)])))


def spelt(one: str, other: str) -> float:
    scores = spelling_scores(one, [other], others_ordered=[in_any_order(other)])
    return float(scores[0])


def test_characters_weigh_as_tfidf_of_scikit_learn_does() -> None:
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit(NAMES)
    asked = ("brest cancer", "skin", "heart disease", "zzz")

    found = [CharacterModel(NAMES).cosines(words) for words in asked]

    expected = (vectorizer.transform(asked) @ vectorizer.transform(NAMES).T).toarray()
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert (CharacterModel(NAMES).knows("skin"), CharacterModel(NAMES).knows("zzz")) == (True, False)
    assert CharacterModel(["", ""]).cosines("skin").tolist() == [0, 0], "names without words are near to nothing"


def test_spelling_is_the_share_of_characters_that_need_no_edit_squared() -> None:
    assert spelt("brest cancer", "breast cancer") == pytest.approx((12 / 13) ** 2)
    assert spelt("braest", "breast") == pytest.approx((5 / 6) ** 2)
    assert spelt(plain("heart, diseases of"), "diseases of heart") == 1.0
    assert (spelt("", "a"), spelt("abc", "xyz")) == (0.0, 0.0)


def test_a_misspelt_name_is_found_by_its_spelling_and_another_word_by_its_meaning() -> None:
    sentences = {"breast_cancer": at(0), "chest": at(90), "flu": at(60)}
    asked = [TokenQuery("brest_cancer", None, at(80)), TokenQuery("mamma", None, at(10))]

    (misspelt, *_), (synonym, *_) = search(sentences, sentences).nearest(asked, 3)

    assert misspelt.alias_token == synonym.alias_token == "breast_cancer"
    assert misspelt.similarity == pytest.approx((12 / 13) ** 2)
    assert synonym.similarity == pytest.approx(0.7 * np.cos(np.radians(10)), abs=1e-3)
    assert synonym.score_fasttext is None


def test_fasttext_counts_for_tokens_that_it_has_learnt_and_is_shown_for_others() -> None:
    searched = search({"a1": at(0), "b2": at(0), "c3": at(0)}, {"a1": at(0), "b2": at(60), "c3": at(0)})

    learnt, other = searched.nearest([TokenQuery("a1", at(0), at(0)), TokenQuery("a1x", at(60), at(0))], 3)

    assert [near.alias_token for near in learnt] == ["c3", "b2"]
    assert [near.similarity for near in learnt] == pytest.approx([1.0, 0.6 * 0.5 + 0.4], abs=1e-3)
    (b2,) = [near for near in other if near.alias_token == "b2"]
    assert b2.similarity == pytest.approx(0.7, abs=1e-3)
    assert b2.score_fasttext == pytest.approx(1.0)


def test_every_score_is_bounded_and_its_own_token_is_no_neighbour() -> None:
    numbers = np.random.default_rng(3)
    rows = {f"name {number}": at_length_1(numbers.standard_normal((1, 8)))[0] for number in range(400)}
    tokens = sorted(rows)[:20]

    found = search(rows, rows).nearest([TokenQuery(token, rows[token], rows[token]) for token in tokens], 50)

    for token, neighbours in zip(tokens, found, strict=True):
        assert len(neighbours) == 50
        assert token not in {near.alias_token for near in neighbours}
        assert all(-1 <= near.similarity <= 1 for near in neighbours)
        assert list(neighbours) == sorted(neighbours, key=lambda near: (-near.similarity, near.alias_token))


@given(st.integers(0, 2**32 - 1))
def test_the_nearest_by_vector_are_those_of_a_comparison_with_every_token(seed: int) -> None:
    numbers = np.random.default_rng(seed)
    rows = numbers.standard_normal((200, 5)).astype(np.float32)
    rows[numbers.integers(0, 200, 80)] = rows[0]  # Many equal ones, so that the limit falls among ties.
    rows = at_length_1(rows)
    tokens = sorted(f"t{number}" for number in range(200))
    query = at_length_1(rows[:1] + np.float32(0.01))[0]

    (found,) = TokenModel(digest="", tokens=tokens, vectors=rows).nearest([TokenQuery("t1", query, None)], 10)

    exact = rows.astype(float) @ query.astype(float)
    order = sorted((-round(score, 12), token) for token, score in zip(tokens, exact, strict=True) if token != "t1")
    assert [near.alias_token for near in found] == [token for _, token in order[:10]]
    assert [near.similarity for near in found] == pytest.approx([-score for score, _ in order[:10]], abs=1e-6)


PAIR = Vocabulary(tags=(Tag(name="a"), Tag(name="b")), aliases={"aa": ("a",)}, documents=((("a", "b"), 9),))


def test_a_document_is_repeated_by_the_logarithm_of_its_weight_and_a_share_of_its_tags_called_by_aliases() -> None:
    def lists(**options: Any) -> Counter[tuple[str, ...]]:
        return Counter(tuple(sorted(words)) for words in training_lists(PAIR, seed=1, **options))

    # 1 + floor(log2(9)) = 4; `a` twice with its alias; `b` once alone.
    assert lists(alias_share=0, alias_lists=2) == {("a", "b"): 4, ("a", "aa"): 2, ("b",): 1}
    assert lists(alias_share=1, alias_lists=0) == {("aa", "b"): 4, ("b",): 1}
    often = PAIR.model_copy(update={"documents": PAIR.documents * 1000})
    words = Counter(word for words in training_lists(often, seed=1, alias_lists=0) for word in words)
    assert 300 < words["aa"] < 500, "about a tenth, of 4000"


def test_a_large_vocabulary_is_learnt_from_as_many_words_as_a_small_one() -> None:
    many = Vocabulary(
        tags=tuple(Tag(name=f"t{number}") for number in range(100)),
        aliases={f"a{number}": (f"t{number}",) for number in range(100)},
        documents=tuple(((f"t{number}", "t0"), 9) for number in range(1, 100)),
    )

    words = [word for words in training_lists(many, seed=1, max_words=800) for word in words]

    assert 600 < len(words) <= 800
    assert {*(tag.name for tag in many.tags), *many.aliases} <= {*words}


MODEL = context_model({"x": at(0), "y": at(90), "z": at(45)}, idf={"x": 2.0})


def test_terms_are_weighed_by_weight_and_idf_and_brought_to_length_1() -> None:
    vector = context_vector(MODEL, {"x": 2.0, "y": 3.0, "unheard": 100.0})

    assert vector == pytest.approx([0.8, 0.6])  # (2 * 2, 3) has the length 5
    unknown: list[dict[str, float]] = [{}, {"unheard": 1.0}, {"x": 0.0}]
    assert [context_vector(MODEL, weights) for weights in unknown] == [None] * 3


def test_a_context_score_is_a_cosine() -> None:
    scores = [context_score(np.array([1.0, 0.0]), row) for row in (at(60) * 7, at(180), at(0))]
    assert scores == pytest.approx([0.5, -1.0, 1.0])


async def test_heads_are_no_part_of_the_context_and_count_half_unless_fasttext_counts_alone() -> None:
    async def embed(phrases: Sequence[str]) -> dict[str, Vector]:
        return {}

    terms = {"red_hat": at(0), "hat": at(90)}
    alone = vocabulary({"red_hat": 1, "hat": 1}, terms=terms, rows=terms)
    fused = alone._replace(sentences=embed)

    by_tag = [{one.tag: one for one in await candidates(searched, "red hat")} for searched in (alone, fused)]

    scores = [[(one.score_context, one.score_similarity) for one in (of["red_hat"], of["hat"])] for of in by_tag]
    diagonal = pytest.approx(0.5**0.5)
    assert scores == [[(diagonal, None), (diagonal, None)], [(1.0, 1.0), (pytest.approx(0.0), 0.5)]]
