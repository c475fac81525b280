"""Replies that have to be JSON, and signals of their tokens."""

from math import log

import numpy as np
import pytest
from scipy.special import logsumexp  # type: ignore[import-untyped]
from scipy.stats import entropy as scipy_entropy  # type: ignore[import-untyped]

from schemas.errors import LLMResponseParseError
from stages.replies import parse_strict
from stages.replies.strict import TokenLogprobs, energy, entropy, token_signals


@pytest.mark.parametrize(
    "raw",
    [
        '{"decision": "accept"}',
        ' \n{"decision": "accept"}\n',
        '```json\n{"decision": "accept"}\n```',
        '```{"decision": "accept"}```',
    ],
)
def test_a_fence_and_white_space_may_surround_the_object(raw: str) -> None:
    assert parse_strict(raw) == {"decision": "accept"}


@pytest.mark.parametrize(
    ("raw", "parse_error"),
    [
        ("", "Expecting value at line 1, column 1"),
        ("I accept it.", "Expecting value at line 1, column 1"),
        ('Sure: ```json\n{"decision": "accept"}\n```', "Expecting value at line 1, column 1"),
        ("{'decision': 'accept'}", "Expecting property name enclosed in double quotes at line 1, column 2"),
        ('{"decision": "accept"} and more', "Extra data at line 1, column 24"),
        ('["accept"]', "expected a JSON object, found array"),
        ('"accept"', "expected a JSON object, found string"),
        ("1", "expected a JSON object, found number"),
        ("true", "expected a JSON object, found boolean"),
        ("null", "expected a JSON object, found null"),
        ('{"score": NaN}', "NaN is not JSON"),
        ('{"decision": "reject", "decision": "accept"}', "a name occurs twice in one object"),
        ("[" * 100_000, "the JSON is nested too deeply"),
    ],
)
def test_nothing_is_repaired(raw: str, parse_error: str) -> None:
    with pytest.raises(LLMResponseParseError) as caught:
        parse_strict(raw)

    assert (caught.value.raw_response, caught.value.parse_error) == (raw, parse_error)


def test_the_error_shows_nothing_of_the_reply() -> None:
    with pytest.raises(LLMResponseParseError) as caught:
        parse_strict("{private words")

    shown = f"{caught.value} {caught.value!r}"
    assert "private" not in shown
    assert caught.value.__suppress_context__


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
