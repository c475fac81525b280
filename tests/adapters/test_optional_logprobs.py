"""Servers that refuse log-probabilities."""

import pytest
from structlog.testing import capture_logs

from adapters.logprobs import OptionalLogprobs
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


async def test_another_model_of_the_server_is_asked_with_them() -> None:
    server = refusing()
    chat = OptionalLogprobs(server)

    await chat.chat(CALL)
    await chat.chat(CALL.model_copy(update={"model": "other"}))

    assert [call.top_logprobs for call in server.calls] == [5, 0, 5, 0]


@pytest.mark.parametrize(("detail", "status"), [("no such model", 400), (UNSUPPORTED, 500)])
async def test_other_errors_are_passed_on_unchanged(detail: str, status: int) -> None:
    server = refusing(detail, status=status)

    with pytest.raises(LLMError) as caught:
        await OptionalLogprobs(server).chat(CALL)

    assert (caught.value.status, len(server.calls)) == (status, 1)


async def test_a_server_that_gives_them_is_asked_once() -> None:
    server = ScriptedChat(lambda call: "because", tokens=TokenSignals(msp=0.5, pe=0.1, energy=-0.1))

    assert (await OptionalLogprobs(server).chat(CALL)).tokens == server.tokens
    assert len(server.calls) == 1
