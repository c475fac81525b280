"""Asking until a reply can be used, and for verdicts on one candidate after another."""

from dataclasses import dataclass

import pytest

from schemas.errors import LLMResponseParseError
from schemas.values.chat import ChatCall, ChatReply, Message, ReaskReason
from schemas.values.participants import Decision
from stages.ports import Deferred, OnText
from stages.replies.asking import UsableReply, ask_until_usable, decide, decision_of
from tests.fakes.chat import ScriptedChat

CALL = ChatCall(model="m", messages=(Message(role="user", content="A number?"),), purpose="ask")


def number(text: str) -> int:
    if text.isdigit():
        return int(text)
    raise LLMResponseParseError(text, "it is no number")


@dataclass
class Remembering(ScriptedChat):
    """Gives the replies that an earlier attempt rejected before any other."""

    rejected: tuple[str, ...] = ()

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        if rejected := self.rejected[len(call.messages) // 2 :]:
            text = rejected[0]
            return ChatReply(text=text, model="m", digest="", stop_reason="stop", seconds=0, is_rejected=True)
        return await super().chat(call, on_text)


async def ask(chat: ScriptedChat, *, retries: int = 2) -> UsableReply[int]:
    return await ask_until_usable(CALL, chat=chat, read=number, form="a number", retries=retries)


async def test_each_re_ask_has_the_exchange_before_it_so_that_no_two_calls_are_equal() -> None:
    chat = ScriptedChat(lambda call: "seven")

    with pytest.raises(LLMResponseParseError, match=r"it is no number \(2 re-asks did not help\)") as caught:
        await ask(chat)

    assert len({call.messages for call in chat.calls}) == len(chat.calls) == caught.value.calls == 3
    assert [call.purpose for call in chat.calls] == ["ask", "ask, re-ask 1", "ask, re-ask 2"]
    *before, reply, request = chat.calls[2].messages
    assert (tuple(before), reply) == (chat.calls[1].messages, Message(role="assistant", content="seven"))
    assert (request.role, "it is no number" in request.content) == ("user", True)


async def test_rejected_replies_are_corrected_and_do_not_count_as_re_asks() -> None:
    chat = Remembering(lambda call: "7", rejected=("seven", "VII", "sieben"))

    usable = await ask(chat)

    assert (usable.read, usable.reasks, len(chat.calls)) == (7, (ReaskReason.MISSING_STRUCTURE,) * 3, 1)
    assert [message.content for message in chat.calls[0].messages[1::2]] == ["seven", "VII", "sieben"]


async def test_after_rejected_replies_the_model_is_asked_once_more_at_least() -> None:
    for retries, asked in ((0, 1), (1, 1), (2, 2)):
        chat = Remembering(lambda call: "eight", rejected=("seven",))
        with pytest.raises(LLMResponseParseError) as caught:
            await ask(chat, retries=retries)
        assert (len(chat.calls), caught.value.calls) == (asked, 1 + asked)


async def test_a_cut_off_reply_names_its_setting_or_the_server() -> None:
    chat = ScriptedChat(lambda call: "7", stop_reason="length")

    with pytest.raises(LLMResponseParseError, match="raise RAGQ_QUERY_MAX_TOKENS"):
        await ask_until_usable(
            CALL, chat=chat, read=number, form="a number", retries=0, token_setting="RAGQ_QUERY_MAX_TOKENS"
        )
    with pytest.raises(LLMResponseParseError, match="use a model or a server with a longer context"):
        await ask(chat)


LATER = "later"


@dataclass(frozen=True)
class Candidate:
    chunk_id: int
    answer: str


async def decided(enough: int | None, *answers: str) -> tuple[list[Decision] | None, list[int]]:
    """The decisions, None if one comes later, and the ranks that were asked about."""
    asked = []

    async def ask(rank: int, candidate: Candidate) -> Decision:
        asked.append(rank)
        if candidate.answer == LATER:
            raise Deferred
        return Decision(candidate.answer)

    candidates = [Candidate(chunk_id, answer) for chunk_id, answer in enumerate(answers, start=11)]
    try:
        accepted, verdicts = await decide(candidates, ask=ask, enough=enough)
    except Deferred:
        return None, asked
    accepting = [verdict.chunk_id for verdict in verdicts if verdict.decision is Decision.ACCEPT]
    assert [(verdict.rank, verdict.chunk_id) for verdict in verdicts] == [(rank, rank + 10) for rank in asked]
    assert [one.chunk_id for one in accepted] == accepting
    return [verdict.decision for verdict in verdicts], asked


@pytest.mark.parametrize(
    ("enough", "answers", "asked"),
    [
        (3, ["accept", "unsure", "accept"], [1, 2, 3]),
        (1, ["reject", "accept", "accept"], [1, 2]),
        (None, ["accept", "accept", "accept"], [1, 2, 3]),
        (1, [LATER, LATER, LATER], [1]),  # the second is needed only if the first does not accept
        (2, [LATER, LATER, LATER], [1, 2]),
        (2, ["reject", LATER, LATER], [1, 2, 3]),
        (2, ["accept", LATER, LATER], [1, 2]),
        (2, [LATER, "accept", LATER], [1, 2]),
        (None, [LATER, LATER, LATER], [1, 2, 3]),
    ],
)
async def test_asking_goes_by_rank_until_enough_accept_and_verdicts_that_come_later_are_asked_for_together(
    enough: int | None, answers: list[str], asked: list[int]
) -> None:
    decisions = None if LATER in answers else [Decision(answer) for answer in answers[: len(asked)]]
    assert await decided(enough, *answers) == (decisions, asked)


@pytest.mark.parametrize(
    ("reply", "parse_error"),
    [
        ('The answer is {"decision": "accept"}', "Expecting value at line 1, column 1"),
        ("{}", "the object has no text 'decision'; expected one of accept, reject, unsure"),
        ('{"decision": null}', "the object has no text 'decision'; expected one of accept, reject, unsure"),
        ('{"decision": "Accept"}', "the object has another 'decision'; expected one of accept, reject, unsure"),
    ],
)
def test_a_reply_that_is_no_verdict_is_refused_and_not_repaired(reply: str, parse_error: str) -> None:
    with pytest.raises(LLMResponseParseError) as caught:
        decision_of(reply)

    assert (caught.value.raw_response, caught.value.parse_error) == (reply, parse_error)
