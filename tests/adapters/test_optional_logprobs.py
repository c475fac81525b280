"""Servers that refuse log-probabilities, and signals of those that others give."""

from math import log

import numpy as np
import pytest
from scipy.special import logsumexp  # type: ignore[import-untyped]
from scipy.stats import entropy as scipy_entropy  # type: ignore[import-untyped]
from structlog.testing import capture_logs

from adapters.logprobs import OptionalLogprobs, ReportedToken, energy, entropy, signals_of
from schemas.errors import LLMError
from schemas.values.chat import ChatCall, Message, TokenSignals
from tests.fakes.chat import ScriptedChat

CALL = ChatCall(model="m", messages=(Message(role="user", content="Why?"),), top_logprobs=5)
UNSUPPORTED = "{'error': {'message': \"Unsupported parameter: 'top_logprobs'\"}}"


def refusing(detail: str = UNSUPPORTED, *, status: int = 400) -> ScriptedChat:
    def answer(call: ChatCall) -> str:
        if call.top_logprobs:
            raise LLMError("refused", status=status, detail=detail)
        return "because"

    return ScriptedChat(answer)


@pytest.mark.parametrize("status", [400, 422])
async def test_a_server_that_refuses_them_is_asked_without_and_only_once_with(status: int) -> None:
    server = refusing(status=status)
    chat = OptionalLogprobs(server)

    with capture_logs() as logs:
        replies = [await chat.chat(CALL) for _ in range(2)]

    assert [(reply.text, reply.tokens) for reply in replies] == [("because", None)] * 2
    assert [call.top_logprobs for call in server.calls] == [5, 0, 0]
    assert [entry["event"] for entry in logs] == ["log_probabilities_refused"]
    await chat.chat(CALL.model_copy(update={"model": "other"}))
    assert [call.top_logprobs for call in server.calls[3:]] == [5, 0]


@pytest.mark.parametrize(("detail", "status"), [("no such model", 400), (UNSUPPORTED, 500)])
async def test_other_errors_and_replies_with_them_are_passed_on_unchanged(detail: str, status: int) -> None:
    server = refusing(detail, status=status)
    giving = ScriptedChat(lambda call: "because", tokens=TokenSignals(msp=0.5, pe=0.1, energy=-0.1))

    with pytest.raises(LLMError) as caught:
        await OptionalLogprobs(server).chat(CALL)

    assert (caught.value.status, len(server.calls)) == (status, 1)
    assert (await OptionalLogprobs(giving).chat(CALL)).tokens == giving.tokens
    assert len(giving.calls) == 1


def test_signals_of_a_worked_example() -> None:
    # Probabilities 1/2 and 1/4 of a half that is named, then a sure token.
    quarter, sure = ReportedToken(logprob=log(1 / 4)), ReportedToken(logprob=0.0)
    tokens = [
        ReportedToken(logprob=log(1 / 4), top_logprobs=[quarter, quarter]),
        ReportedToken(logprob=0.0, top_logprobs=[sure]),
    ]

    signals = signals_of(tokens)

    assert signals is not None
    assert signals.model_dump() == pytest.approx({"msp": (1 / 4 + 1) / 2, "pe": log(2) / 2, "energy": log(1 / 2) / 2})
    assert signals_of([]) is None


@pytest.mark.parametrize("seed", range(5))
def test_signals_agree_with_another_library_and_do_not_underflow(seed: int) -> None:
    logprobs = np.log(np.random.default_rng(seed).dirichlet(np.ones(9))[:5])

    assert energy(logprobs.tolist()) == pytest.approx(logsumexp(logprobs))
    assert entropy(logprobs.tolist()) == pytest.approx(scipy_entropy(np.exp(logprobs)))
    assert energy([-2000.0, -2000.0]) == pytest.approx(-2000 + log(2))
    assert entropy([-2000.0, -2000.0]) == pytest.approx(log(2))
