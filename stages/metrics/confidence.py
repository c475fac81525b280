"""The confidences of a scored item, by name (Specs 25, 046, 048, 050, 051).

Only the order counts for risk-coverage curves; most confidences are in 0..1 nevertheless. Without references the
similarity is 0, and a model that states no confidence counts as undecided, 0.5. A whole run has token and consistency
signals or lacks them: without them their confidences are refused.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from math import exp
from typing import NamedTuple

from schemas.errors import Refused
from schemas.suggestions import did_you_mean
from schemas.values.chat import TokenSignals
from schemas.values.scoring import Consistency, ItemScore

Confidence = Callable[[ItemScore], float]
"""The certainty of a score; higher is more certain."""


class Signal(StrEnum):
    """An input of confidences."""

    EVIDENCE = "evidence"
    SIMILARITY = "similarity"
    VERBALIZED = "verbalized"
    TOKENS = "tokens"
    CONSISTENCY = "consistency"


_ENOUGH_QUOTES = 3


def evidence_count(item: ItemScore) -> float:
    """The number of quotes extracted for the item; unbounded."""
    return float(item.evidence_count)


def evidence_share(item: ItemScore) -> float:
    """min(quotes, 3) / 3."""
    return min(item.evidence_count, _ENOUGH_QUOTES) / _ENOUGH_QUOTES


def similarity(item: ItemScore) -> float:
    """The mean similarity of the references in the prompt; 0 without any."""
    return item.retrieval.mean or 0.0


def verbalized(item: ItemScore) -> float:
    """(v - 1) / 4 of the confidence 1..5 that the model stated; 0.5 if it stated none (Spec 048)."""
    return 0.5 if item.confidence is None else (item.confidence - 1) / 4


def _beside_evidence(confidence: Confidence) -> Confidence:
    """0.4 x a confidence + 0.3 x min(quotes, 3) / 3 + 0.3 x mean similarity."""
    return lambda item: 0.4 * confidence(item) + 0.3 * evidence_share(item) + 0.3 * similarity(item)


def _tokens(item: ItemScore) -> TokenSignals:
    if item.tokens is None:
        raise Refused(
            "A token confidence needs token probabilities, and this run has none; score it with "
            "RAGQ_TOKEN_SIGNALS=true on a server that reports them."
        )
    return item.tokens


def _consistency(item: ItemScore) -> Consistency:
    if item.consistency is None:
        raise Refused("A consistency confidence needs several samples; score the run with CONSISTENCY_ENABLED=true.")
    return item.consistency


def _modal_share(item: ItemScore) -> float:
    return _consistency(item).modal_confidence


class Variant(NamedTuple):
    """A confidence and the signals that it needs."""

    confidence: Confidence
    needs: frozenset[Signal]


_E, _S, _V, _T, _C = Signal

VARIANTS: Mapping[str, Variant] = {
    "llm": Variant(evidence_count, frozenset({_E})),
    "total_evidence": Variant(evidence_count, frozenset({_E})),
    "retrieval_similarity_mean": Variant(similarity, frozenset({_S})),
    "retrieval_similarity_max": Variant(lambda item: item.retrieval.maximum or 0.0, frozenset({_S})),
    # Spec 046
    "hybrid_evidence_similarity": Variant(
        lambda item: 0.5 * evidence_share(item) + 0.5 * similarity(item), frozenset({_E, _S})
    ),
    # Spec 048
    "verbalized": Variant(verbalized, frozenset({_V})),
    "hybrid_verbalized": Variant(_beside_evidence(verbalized), frozenset({_V, _E, _S})),
    # Spec 051: means over the tokens of the reply
    "token_msp": Variant(lambda item: _tokens(item).msp, frozenset({_T})),
    "token_pe": Variant(lambda item: 1 / (1 + _tokens(item).pe), frozenset({_T})),
    "token_energy": Variant(lambda item: exp(_tokens(item).energy), frozenset({_T})),
    # Spec 050: the share of samples with the modal score, and their standard deviation
    "consistency": Variant(_modal_share, frozenset({_C})),
    "consistency_inverse_std": Variant(lambda item: 1 / (1 + _consistency(item).score_std), frozenset({_C})),
    "hybrid_consistency": Variant(_beside_evidence(_modal_share), frozenset({_C, _E, _S})),
}
"""Every named confidence."""

_COMBINATIONS: Mapping[str, Callable[[float, float], float]] = {
    "average": lambda one, other: (one + other) / 2,
    "product": lambda one, other: one * other,
}
_SECONDARY = "secondary:"


def variant_named(name: str) -> Variant:
    """The variant of a name, or of two: `secondary:token_msp+verbalized:average`. Raises Refused for any other name.

    >>> sorted(variant_named("secondary:llm+verbalized:product").needs)
    [<Signal.EVIDENCE: 'evidence'>, <Signal.VERBALIZED: 'verbalized'>]
    """
    if not name.startswith(_SECONDARY):
        if name.startswith("calibrated:"):
            raise Refused(f"{name!r} needs a run to calibrate on: `ragq report RUN --calibrate-on OTHER_RUN`.")
        if name not in VARIANTS:
            suggestion = did_you_mean(name, VARIANTS)
            raise Refused(f"There is no confidence {name!r}; choose one of {', '.join(VARIANTS)}.{suggestion}")
        return VARIANTS[name]
    pair, _, combination = name.removeprefix(_SECONDARY).partition(":")
    names = pair.split("+")
    if len(names) != 2 or combination not in _COMBINATIONS:
        raise Refused(f"{name!r} is not a pair of confidences; write secondary:A+B:average or secondary:A+B:product.")
    first, second = map(variant_named, names)
    combine, needs = _COMBINATIONS[combination], first.needs | second.needs
    return Variant(lambda item: combine(first.confidence(item), second.confidence(item)), needs)
