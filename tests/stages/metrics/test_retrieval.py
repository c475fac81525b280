"""Measures of rankings against worked examples, and against a second implementation."""

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.metrics.selective import measure_names, measure_rankings

DOCUMENTS = [f"d{number}" for number in range(15)]
RELEVANCE = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3), min_size=1).filter(
    lambda found: max(found.values()) > 0
)
RANKING = st.lists(st.sampled_from(DOCUMENTS), unique=True)


def by_loops(ranking: list[str], relevance: dict[str, int], cutoff: int) -> list[float]:
    """The measures of one query, after their definitions."""
    gains = [max(0, relevance.get(document, 0)) for document in ranking]
    ideal = sorted((max(0, gain) for gain in relevance.values()), reverse=True)
    dcg, best = (
        sum(gain / log2(rank + 1) for rank, gain in enumerate(found[:cutoff], start=1)) for found in (gains, ideal)
    )
    relevant = sum(gain > 0 for gain in relevance.values())
    hits = sum(gain > 0 for gain in gains[:cutoff])
    first = next((rank for rank, gain in enumerate(gains[:cutoff], start=1) if gain > 0), None)
    return [
        dcg / best,
        hits / relevant,
        0.0 if first is None else 1 / first,
        hits / cutoff,
        sum(gain > 0 for gain in gains) / relevant,
    ]


def test_worked_numbers() -> None:
    # DCG 2/log2(3) + 1/log2(4) = 1.761860, the best order 2/log2(2) + 1/log2(3) = 2.630930
    found = measure_rankings(
        {"a": ["d9", "d2", "d1"], "b": [], "c": ["d1", *DOCUMENTS[4:14], "d2"]},
        {"a": {"d1": 1, "d2": 2}, "b": {"d1": 1}, "c": {"d2": 1, "d3": 1, "d1": 0}},
        cutoff=10,
    )

    assert found["a"] == pytest.approx({"ndcg@10": 0.669672, "recall@10": 1, "mrr@10": 0.5, "p@10": 0.2, "recall": 1})
    assert set(found["b"].values()) == {0.0}
    assert found["c"] == {"ndcg@10": 0.0, "recall@10": 0.0, "mrr@10": 0.0, "p@10": 0.0, "recall": 0.5}


@given(st.dictionaries(st.sampled_from("abc"), st.tuples(RANKING, RELEVANCE), min_size=1), st.integers(1, 12))
def test_a_plain_loop_agrees(queries: dict[str, tuple[list[str], dict[str, int]]], cutoff: int) -> None:
    rankings = {query: ranking for query, (ranking, _) in queries.items()}
    relevance = {query: judged for query, (_, judged) in queries.items()}

    found = measure_rankings(rankings, relevance, cutoff=cutoff)

    for query, (ranking, judged) in queries.items():
        expected = dict(zip(measure_names(cutoff), by_loops(ranking, judged, cutoff), strict=True))
        assert found[query] == pytest.approx(expected)
