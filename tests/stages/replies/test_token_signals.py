"""Confidence of a model in its tokens."""

from math import log

import numpy as np
import pytest
from scipy.special import logsumexp  # type: ignore[import-untyped]
from scipy.stats import entropy as scipy_entropy  # type: ignore[import-untyped]

from stages.replies.strict import TokenLogprobs, energy, entropy, token_signals


def test_signals_of_a_worked_example() -> None:
    # Probabilities 1/2 and 1/4 of a half that is named, then a sure token.
    tokens = [TokenLogprobs(log(1 / 4), (log(1 / 4), log(1 / 4))), TokenLogprobs(0.0, (0.0,))]

    signals = token_signals(tokens)

    assert signals is not None
    assert signals.model_dump() == pytest.approx({"msp": (1 / 4 + 1) / 2, "pe": log(2) / 2, "energy": log(1 / 2) / 2})


def test_a_reply_without_tokens_has_no_signals() -> None:
    assert token_signals([]) is None


@pytest.mark.parametrize("seed", range(5))
def test_signals_agree_with_another_library(seed: int) -> None:
    logprobs = np.log(np.random.default_rng(seed).dirichlet(np.ones(9))[:5])

    assert energy(logprobs.tolist()) == pytest.approx(logsumexp(logprobs))
    assert entropy(logprobs.tolist()) == pytest.approx(scipy_entropy(np.exp(logprobs)))


def test_vanishing_probabilities_do_not_underflow() -> None:
    assert energy([-2000.0, -2000.0]) == pytest.approx(-2000 + log(2))
    assert entropy([-2000.0, -2000.0]) == pytest.approx(log(2))
