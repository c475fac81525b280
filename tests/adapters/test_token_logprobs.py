from math import log

import pytest
from pydantic import ValidationError

from adapters.token_logprobs import ReportedToken, signals_of


def token(*probabilities: float) -> ReportedToken:
    """A token that was chosen with probability 1/2; `probabilities` are those of the likeliest tokens."""
    likeliest = [{"token": "x", "logprob": log(probability)} for probability in probabilities]
    return ReportedToken.model_validate({"token": "x", "logprob": log(0.5), "top_logprobs": likeliest})


def test_signals_are_means_over_the_tokens() -> None:
    # One token is certain, the other one of two that are as likely: entropies 0 and log 2, both sums of 1.
    signals = signals_of([token(1.0), token(0.5, 0.5)])
    assert signals is not None
    assert signals.model_dump() == pytest.approx({"msp": 0.5, "pe": log(2) / 2, "energy": 0})


@pytest.mark.parametrize("reported", [None, [], [token(1.0), token()]], ids=["none", "empty", "gap"])
def test_missing_values_give_no_signal(reported: list[ReportedToken] | None) -> None:
    assert signals_of(reported) is None


def test_a_log_probability_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValidationError):
        ReportedToken.model_validate({"logprob": None, "top_logprobs": []})
