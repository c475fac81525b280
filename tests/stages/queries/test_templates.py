"""Stage `generate`: prompt templates, answers, and the labels that they cite."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import LLMResponseParseError, TemplateError
from schemas.values.queries import Answer, AugmentedPrompt, ContextSource, Origin, Source
from stages.queries import templates
from stages.texts.characters import short_hash
from tests.fakes.chat import ScriptedChat
from tests.stages.at_defaults import RUN, augmentation


@pytest.mark.parametrize("tag", templates.TemplateTag)
def test_the_default_templates_are_templates_and_use_known_placeholders_alone(tag: templates.TemplateTag) -> None:
    templates.check_template(tag, templates.default_template(tag))
    assert set(templates.placeholders(templates.default_template(tag))) <= set(templates.RULES[tag].variables)


@pytest.mark.parametrize(
    ("template", "wrong"),
    [
        ("{query} {number}", r"\{number\} is unknown; there are \{query\}, \{n\}; \{n\} is missing"),
        ("{n}", r"\{query\} is missing"),
        ("{query} {n} {", "do not pair"),
        ("{query} {n} }", "do not pair"),
        *(
            (template, "not a placeholder")
            for template in ("{query.__class__}", "{query[0]}", "{query!r}", "{query:>10}", "{}", '{"a": 1} {query}')
        ),
    ],
)
def test_a_text_that_is_no_template_is_refused_with_what_is_wrong(template: str, wrong: str) -> None:
    with pytest.raises(TemplateError, match=wrong):
        templates.check_template(templates.TemplateTag.QUERY_EXPANSION, template)


def test_an_input_that_a_template_lacks_or_a_value_that_it_has_not_is_an_error() -> None:
    with pytest.raises(TemplateError, match=r"\{context_blocks\} or \{contexts\} is missing"):
        templates.check_template(templates.TemplateTag.RAG_AUGMENTATION, "{query} {intent}")
    with pytest.raises(TemplateError, match=r"\{n\} is unknown; there are \{query\}"):
        templates.render("{query} {n}", {"query": "q"})


@given(st.text(), st.text())
def test_values_are_inserted_unchanged(before: str, value: str) -> None:
    template = before.replace("{", "{{").replace("}", "}}") + "{query}"

    assert templates.render(template, {"query": value}) == before + value


AUGMENTED = AugmentedPrompt(
    prompt="Why? [S1] [S2]",
    template_version=1,
    context_source=ContextSource.CONSOLIDATED,
    available=2,
    shown=2,
    top_n=2,
    sources=tuple(
        Source(label=f"S{n}", work_id=1, title="Tea", chunk_ids=(1,), start_line=1, end_line=2) for n in (1, 2)
    ),
)


async def generate(chat: ScriptedChat) -> Answer:
    return await templates.generate_answer(AUGMENTED, chat=chat, model="m", settings=RUN, preset=augmentation())


async def test_the_model_is_asked_once_and_its_citations_are_checked_as_in_a_pasted_answer() -> None:
    text = "Oxidation [S2], perhaps [S9]."
    chat = ScriptedChat(lambda call: text)

    answer = await generate(chat)

    assert answer == Answer(
        origin=Origin.MODEL,
        model="m",
        prompt_hash=short_hash(AUGMENTED.prompt),
        response_text=text,
        cited=("S2",),
        unknown_citations=("S9",),
    )
    assert templates.pasted_answer(text, AUGMENTED) == answer.model_copy(
        update={"origin": Origin.PASTED, "model": None}
    )
    (call,) = chat.calls
    assert (call.model, call.temperature, call.messages[1].content) == ("m", 0.2, "Why? [S1] [S2]")


@pytest.mark.parametrize("text", ["", " \n"])
async def test_a_blank_answer_is_an_error_and_one_that_was_cut_off_is_kept_and_marked(text: str) -> None:
    with pytest.raises(LLMResponseParseError, match="blank"):
        templates.pasted_answer(text, AUGMENTED)
    with pytest.raises(LLMResponseParseError, match="blank"):
        await generate(ScriptedChat(lambda call: text))

    cut = await generate(ScriptedChat(lambda call: f"Because{text}", stop_reason="length"))
    whole = await generate(ScriptedChat(lambda call: "Because"))
    assert (cut.response_text.strip(), cut.is_cut, whole.is_cut) == ("Because", True, False)


LABELS = ["S1", "S2", "S3", "S12"]


def test_labels_are_found_in_order_each_once() -> None:
    known = {
        "It darkens [S1].": ("S1",),
        "Both [S2][S1] say so, [S2] twice.": ("S2", "S1"),
        "Both [S1, S3] and [S2;S12].": ("S1", "S3", "S2", "S12"),
        "**Bold [S1]** and _italic [S2]_.": ("S1", "S2"),
        "## Sources Used\n\n- [S1] Tea\n- [S3]: Bridges": ("S1", "S3"),
        "[S1]: http://example.org\n[S2]: Tea": ("S1", "S2"),
        "See [S1](http://example.org).": ("S1",),
        "| a | b |\n|---|---|\n| x [S1] | y [S2] |": ("S1", "S2"),
        "> quoted [S1]\n\n1. one\n   - two [S2]\n\n        deep [S3]": ("S1", "S2", "S3"),
        "over two\nlines [S1]": ("S1",),
        "<b>[S1]</b>": ("S1",),
        "": (),
    }
    assert {answer: templates.citations(answer, LABELS) for answer in known} == {
        answer: (labels, ()) for answer, labels in known.items()
    }
    assert templates.citations("One [S1], two [S9], three [S4, S2].", LABELS) == (("S1", "S2"), ("S9", "S4"))


def test_code_and_what_only_looks_like_a_label_cite_nothing() -> None:
    answers = [
        "[S12a] [S1-] [S] [S 1] [XS1] [S01] [S0] S1 (S1) [s1]",
        "`[S1]` and ``a ` [S2]``",
        "```\n[S1]\n```",
        "~~~python\nx = [S1]\n~~~",
        "- item\n  ```\n  [S1]\n  ```",
        "```\nnever closed [S1]",
    ]
    assert [templates.citations(answer, LABELS) for answer in answers] == [((), ())] * len(answers)
