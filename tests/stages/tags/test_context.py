"""The context of a request."""

from collections.abc import Sequence

import numpy as np
import pytest

from stages.tags.retrieve import Sentences
from stages.tags.similarity import SentenceModel, context_score, context_vector
from tests.stages.tags.builders import at, candidates, context_model, vocabulary

MODEL = context_model({"x": at(0), "y": at(90), "z": at(45)}, idf={"x": 2.0})


def test_terms_are_weighed_by_weight_and_idf_and_brought_to_length_1() -> None:
    vector = context_vector(MODEL, {"x": 2.0, "y": 3.0, "unheard": 100.0})

    assert vector == pytest.approx([0.8, 0.6])  # (2 * 2, 3) has the length 5


@pytest.mark.parametrize("weights", [{}, {"unheard": 1.0}, {"x": 0.0}])
def test_without_a_known_term_there_is_no_context(weights: dict[str, float]) -> None:
    assert context_vector(MODEL, weights) is None


@pytest.mark.parametrize(("row", "score"), [(at(60), 0.5), (at(180), -1.0), (at(0) * 7, 1.0)])
def test_a_context_score_is_a_cosine(row: np.ndarray[tuple[int], np.dtype[np.float32]], score: float) -> None:
    assert context_score(np.array([1.0, 0.0]), row) == pytest.approx(score)


async def test_heads_are_no_part_of_the_context_and_count_half_unless_fasttext_counts_alone() -> None:
    async def embed(phrases: Sequence[str]) -> Sentences:
        return Sentences(SentenceModel("backend", "model", "digest"), (), np.zeros((0, 2), dtype=np.float32))

    terms = {"red_hat": at(0), "hat": at(90)}
    alone = vocabulary({"red_hat": 1, "hat": 1}, terms=terms, rows=terms)
    fused = alone._replace(sentences=embed)

    by_tag = [{each.tag: each for each in await candidates(one, "red hat")} for one in (alone, fused)]

    contexts = [[found["red_hat"].score_context, found["hat"].score_context] for found in by_tag]
    assert np.array(contexts, dtype=float) == pytest.approx(np.array([[0.5**0.5, 0.5**0.5], [1.0, 0.0]]))
    assert [(found["red_hat"].score_similarity, found["hat"].score_similarity) for found in by_tag] == [
        (None, None),
        (1.0, 0.5),
    ]
