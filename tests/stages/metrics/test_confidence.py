"""Confidence functions."""

from math import exp

import pytest

from schemas.errors import Refused
from schemas.values.chat import TokenSignals
from schemas.values.participants import SimilarityStatistics
from schemas.values.scoring import Consistency, ItemScore
from stages.metrics.confidence import VARIANTS, Signal, variant_named

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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llm", 2.0),
        ("total_evidence", 2.0),
        ("retrieval_similarity_mean", 0.6),
        ("retrieval_similarity_max", 0.8),
        ("hybrid_evidence_similarity", 0.5 * 2 / 3 + 0.5 * 0.6),
        ("verbalized", (4 - 1) / 4),
        ("hybrid_verbalized", 0.4 * 0.75 + 0.3 * 2 / 3 + 0.3 * 0.6),
        ("token_msp", 0.9),
        ("token_pe", 1 / 1.25),
        ("token_energy", exp(-0.5)),
        ("consistency", 0.75),
        ("consistency_inverse_std", 1 / 1.5),
        ("hybrid_consistency", 0.4 * 0.75 + 0.3 * 2 / 3 + 0.3 * 0.6),
        ("secondary:token_msp+retrieval_similarity_mean:average", 0.75),
        ("secondary:token_msp+retrieval_similarity_mean:product", 0.54),
    ],
)
def test_confidence_of_an_item_with_all_signals(name: str, expected: float) -> None:
    assert variant_named(name).confidence(FULL) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llm", 0.0),
        ("retrieval_similarity_mean", 0.0),
        ("retrieval_similarity_max", 0.0),
        ("hybrid_evidence_similarity", 0.0),
        ("verbalized", 0.5),
        ("hybrid_verbalized", 0.4 * 0.5),
    ],
)
def test_missing_evidence_references_and_words_are_decided(name: str, expected: float) -> None:
    assert variant_named(name).confidence(BARE) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("signal", "words"),
    [(Signal.TOKENS, "needs token probabilities"), (Signal.CONSISTENCY, "CONSISTENCY_ENABLED=true")],
)
def test_missing_token_signals_and_samples_are_refused(signal: Signal, words: str) -> None:
    for variant in (variant for variant in VARIANTS.values() if signal in variant.needs):
        with pytest.raises(Refused, match=words):
            variant.confidence(BARE)


@pytest.mark.parametrize(
    "name", ["", "LLM", "secondary:llm:average", "secondary:llm+llm:sum", "secondary:llm+luck:average"]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(Refused, match=r"choose one of llm, |write secondary:A"):
        variant_named(name)
