"""Stage `generate`."""

import pytest

from schemas.errors import LLMResponseParseError
from schemas.values.queries import Answer, AugmentedPrompt, ContextSource, Origin, Source
from stages.queries.templates import generate_answer, pasted_answer
from stages.texts.characters import short_hash
from tests.fakes.chat import ScriptedChat
from tests.stages.at_defaults import RUN, augmentation

AUGMENTED = AugmentedPrompt(
    prompt="Why? [S1] [S2]",
    template_version=1,
    context_source=ContextSource.CONSOLIDATED,
    available=2,
    top_n=2,
    sources=tuple(
        Source(label=label, work_id=1, title="Tea", chunk_ids=(1,), start_line=1, end_line=2) for label in ("S1", "S2")
    ),
)


async def generate(chat: ScriptedChat) -> Answer:
    return await generate_answer(AUGMENTED, chat=chat, model="m", settings=RUN, preset=augmentation())


async def test_the_model_is_asked_once_and_its_citations_are_checked() -> None:
    chat = ScriptedChat(lambda call: "Oxidation [S2], perhaps [S9].")

    answer = await generate(chat)

    assert answer == Answer(
        origin=Origin.MODEL,
        model="m",
        prompt_hash=short_hash(AUGMENTED.prompt),
        text="Oxidation [S2], perhaps [S9].",
        cited=("S2",),
        unknown=("S9",),
    )
    (call,) = chat.calls
    assert (call.model, call.temperature, call.messages[1].content) == ("m", 0.2, "Why? [S1] [S2]")


def test_a_pasted_answer_is_checked_in_the_same_way_without_a_model() -> None:
    answer = pasted_answer("x", AUGMENTED)

    assert (answer.origin, answer.model, answer.text, answer.cited) == (Origin.PASTED, None, "x", ())


@pytest.mark.parametrize("text", ["", " \n"])
async def test_a_blank_answer_is_an_error(text: str) -> None:
    with pytest.raises(LLMResponseParseError, match="blank"):
        pasted_answer(text, AUGMENTED)
    with pytest.raises(LLMResponseParseError, match="blank"):
        await generate(ScriptedChat(lambda call: text))


async def test_an_answer_that_was_cut_off_is_kept_and_marked() -> None:
    cut = await generate(ScriptedChat(lambda call: "Because", stop_reason="length"))
    whole = await generate(ScriptedChat(lambda call: "Because"))

    assert (cut.text, cut.is_cut, whole.is_cut) == ("Because", True, False)
