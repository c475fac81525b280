"""Confidences, areas under risk-coverage curves and measures of rankings, against values by hand.

`tests/recorded` compares confidences, curves, areas and intervals with those of the published code.
"""

import numpy as np
import pytest

from schemas.errors import Refused
from schemas.values.scoring import ItemScore
from stages.metrics.confidence import variant_named
from stages.metrics.selective import Curve, areas_under, measure_rankings


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *((name, "needs token probabilities") for name in ("token_msp", "token_pe", "token_energy")),
        ("consistency", "CONSISTENCY_ENABLED=true"),
        ("secondary:token_msp+retrieval_similarity_mean:average", "needs token probabilities"),
    ],
)
def test_a_confidence_is_refused_without_the_signals_of_a_whole_run(name: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        variant_named(name).confidence(ItemScore(score=2))


@pytest.mark.parametrize(
    "name", ["", "LLM", "secondary:llm:average", "secondary:llm+llm:sum", "secondary:llm+luck:average"]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(Refused, match=r"choose one of llm, |write secondary:A"):
        variant_named(name)


def test_the_worked_numbers_of_the_specification() -> None:
    # Losses 0, 1/3, 0, 2/3 by falling confidence, of which the second and the third have the same, and N = 5.
    items, lost = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([[0.0], [0.0], [1 / 3], [1.0]])
    found = areas_under(Curve(items, lost, lost / np.maximum(items, 1), np.array([5.0])))

    # 0.4 (0 + 1/9) / 2 + 0.2 (1/9 + 1/4) / 2, and 0.4 (0 + 1/15) / 2 + 0.2 (1/15 + 1/5) / 2
    assert [one.tolist() for one in found] == [[pytest.approx(0.058333, abs=1e-6)], [pytest.approx(0.04)]]


def test_worked_numbers_of_rankings() -> None:
    # DCG 2/log2(3) + 1/log2(4) = 1.761860, the best order 2/log2(2) + 1/log2(3) = 2.630930
    found = measure_rankings(
        {"a": ["d9", "d2", "d1"], "b": [], "c": ["d1", *(f"d{number}" for number in range(4, 14)), "d2"]},
        {"a": {"d1": 1, "d2": 2, "d9": -1}, "b": {"d1": 1}, "c": {"d2": 1, "d3": 1, "d1": 0}},
        cutoff=10,
    )

    assert found["a"] == pytest.approx({"ndcg@10": 0.669672, "recall@10": 1, "mrr@10": 0.5, "p@10": 0.2, "recall": 1})
    assert set(found["b"].values()) == {0.0}
    assert found["c"] == {"ndcg@10": 0.0, "recall@10": 0.0, "mrr@10": 0.0, "p@10": 0.0, "recall": 0.5}
