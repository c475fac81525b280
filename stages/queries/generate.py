"""Stage `generate`: the answer, from a language model, pasted, or quoted, and the sources that it cites."""

from schemas.errors import LLMResponseParseError
from schemas.values.chat import ChatCall, Message
from schemas.values.queries import Answer, AugmentedPrompt, Origin
from stages.ports import ChatModel, OnText
from stages.queries.citations import citations
from stages.replies.asking import is_cut_off
from stages.texts.characters import can_be_stored
from stages.texts.ids import short_hash
from stages.texts.markdown import DATA_RULE

_SYSTEM = f"You answer questions from sources, and cite them. {DATA_RULE}"


async def generate_answer(
    augmented: AugmentedPrompt,
    *,
    chat: ChatModel,
    model: str,
    timeout_s: float,
    temperature: float,
    max_tokens: int | None,
    sample: int = 0,
    on_text: OnText | None = None,
) -> Answer:
    """Ask the model once; `sample` distinguishes several answers to the same prompt.

    `on_text` is given the pieces of the answer while the model writes it. An answer that the token limit ended is
    marked as cut.

    Raises LLMResponseParseError for a blank answer, and the errors of the client unchanged.
    """
    call = answer_call(
        augmented, model=model, timeout_s=timeout_s, temperature=temperature, max_tokens=max_tokens, sample=sample
    )
    reply = await chat.chat(call, on_text)
    return stored_answer(reply.text, augmented, origin=Origin.MODEL, model=model, is_cut=is_cut_off(reply))


def pasted_answer(text: str, augmented: AugmentedPrompt) -> Answer:
    """An answer by an external model.

    Raises LLMResponseParseError for a blank one, and for one with characters that Postgres cannot store.
    """
    if not can_be_stored(text):
        raise LLMResponseParseError(text, "the answer contains characters that cannot be stored")
    return stored_answer(text, augmented, origin=Origin.PASTED, model=None)


def answer_messages(prompt: str) -> tuple[Message, ...]:
    """What the model is sent for a prompt."""
    return Message(role="system", content=_SYSTEM), Message(role="user", content=prompt)


def answer_call(
    augmented: AugmentedPrompt,
    *,
    model: str,
    timeout_s: float,
    temperature: float,
    max_tokens: int | None,
    sample: int = 0,
) -> ChatCall:
    """The one call that asks for the answer."""
    return ChatCall(
        model=model,
        messages=answer_messages(augmented.prompt),
        temperature=temperature,
        max_tokens=max_tokens,
        sample=sample,
        timeout_s=timeout_s,
        purpose="generate answer",
    )


def stored_answer(
    text: str, augmented: AugmentedPrompt, *, origin: Origin, model: str | None, is_cut: bool = False
) -> Answer:
    if not text.strip():
        raise LLMResponseParseError(text, "the answer is blank")
    known, unknown = citations(text, [source.label for source in augmented.sources])
    return Answer(
        origin=origin,
        model=model,
        prompt_hash=short_hash(augmented.prompt),
        text=text,
        cited=known,
        unknown=unknown,
        is_cut=is_cut,
    )
