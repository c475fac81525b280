"""Asking until a reply can be used."""

import pytest

from schemas.errors import LLMResponseParseError
from schemas.values.chat import ChatCall, ChatReply, Message, ReaskReason
from stages.ports import OnText
from stages.replies.asking import UsableReply, ask_until_usable
from tests.fakes.chat import ScriptedChat

CALL = ChatCall(model="m", messages=(Message(role="user", content="A number?"),), purpose="ask")


def number(text: str) -> int:
    if text.isdigit():
        return int(text)
    raise LLMResponseParseError(text, "it is no number")


class Remembering(ScriptedChat):
    """Gives the replies that an earlier attempt rejected before any other."""

    rejected: tuple[str, ...] = ()

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        turns = len(call.messages) // 2
        if turns < len(self.rejected):
            text = self.rejected[turns]
            return ChatReply(text=text, model="m", digest="", stop_reason="stop", seconds=0, is_rejected=True)
        return await super().chat(call, on_text)


async def ask(chat: ScriptedChat, *, retries: int = 2) -> UsableReply[int]:
    return await ask_until_usable(CALL, chat=chat, read=number, form="a number", retries=retries)


async def test_no_two_calls_are_equal() -> None:
    chat = ScriptedChat(lambda call: "seven")

    with pytest.raises(LLMResponseParseError, match=r"it is no number \(2 re-asks did not help\)") as caught:
        await ask(chat)

    assert len({call.messages for call in chat.calls}) == len(chat.calls) == caught.value.calls == 3


async def test_rejected_replies_are_corrected_and_do_not_count_as_re_asks() -> None:
    chat = Remembering(lambda call: "7")
    chat.rejected = ("seven", "VII", "sieben")

    usable = await ask(chat)

    assert (usable.read, usable.reasks, len(chat.calls)) == (7, (ReaskReason.MISSING_STRUCTURE,) * 3, 1)
    assert [message.content for message in chat.calls[0].messages[1::2]] == ["seven", "VII", "sieben"]


@pytest.mark.parametrize(("retries", "asked"), [(0, 1), (1, 1), (2, 2)])
async def test_after_rejected_replies_the_model_is_asked_once_more_at_least(retries: int, asked: int) -> None:
    chat = Remembering(lambda call: "eight")
    chat.rejected = ("seven",)

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
