"""Confidence functions."""

from math import exp

import pytest

from schemas.errors import Refused
from schemas.values.chat import TokenSignals
from schemas.values.participants import SimilarityStatistics
from schemas.values.scoring import Consistency, ItemScore
from stages.metrics.confidence import Signal, variant_named

FULL = ItemScore(
    score=2,
    confidence=4,
    evidence_count=2,
    retrieval=SimilarityStatistics(count=2, mean=0.6, maximum=0.8),
    tokens=TokenSignals(msp=0.9, pe=0.25, energy=-0.5),
    consistency=Consistency(
        samples=(2, 2, 1, 2), modal_score=2, modal_count=3, modal_confidence=0.75, score_std=0.5, na_rate=0.0
    ),
)
BARE = ItemScore(score=2)


#: Of an item with all signals, and of one without any: references that are missing count 0, and words 0.5.
EXPECTED = {
    "llm": (2.0, 0.0),
    "total_evidence": (2.0, 0.0),
    "retrieval_similarity_mean": (0.6, 0.0),
    "retrieval_similarity_max": (0.8, 0.0),
    "hybrid_evidence_similarity": (0.5 * 2 / 3 + 0.5 * 0.6, 0.0),
    "verbalized": ((4 - 1) / 4, 0.5),
    "hybrid_verbalized": (0.4 * 0.75 + 0.3 * 2 / 3 + 0.3 * 0.6, 0.4 * 0.5),
    "token_msp": (0.9, None),
    "token_pe": (1 / 1.25, None),
    "token_energy": (exp(-0.5), None),
    "consistency": (0.75, None),
    "consistency_inverse_std": (1 / 1.5, None),
    "hybrid_consistency": (0.4 * 0.75 + 0.3 * 2 / 3 + 0.3 * 0.6, None),
    "secondary:token_msp+retrieval_similarity_mean:average": (0.75, None),
    "secondary:token_msp+retrieval_similarity_mean:product": (0.54, None),
}


@pytest.mark.parametrize(("name", "full", "bare"), [(name, *values) for name, values in EXPECTED.items()])
def test_a_confidence_is_computed_from_signals_and_refused_without_those_of_a_whole_run(
    name: str, full: float, bare: float | None
) -> None:
    found = variant_named(name)

    assert found.confidence(FULL) == pytest.approx(full)
    if bare is None:
        words = "needs token probabilities" if Signal.TOKENS in found.needs else "CONSISTENCY_ENABLED=true"
        with pytest.raises(Refused, match=words):
            found.confidence(BARE)
    else:
        assert found.confidence(BARE) == pytest.approx(bare)


@pytest.mark.parametrize(
    "name", ["", "LLM", "secondary:llm:average", "secondary:llm+llm:sum", "secondary:llm+luck:average"]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(Refused, match=r"choose one of llm, |write secondary:A"):
        variant_named(name)
