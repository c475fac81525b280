"""Stage `expand`: replies of models and pasted ones (row B 1)."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import FailureCategory, LLMResponseParseError, listed_violations
from schemas.values.queries import Expansion, Intent, Origin
from stages.queries.expand import expand_query, expansion_json_schema, expansion_prompt, pasted_expansion
from stages.queries.templates import TemplateTag, default_template
from tests.fakes.chat import ScriptedChat
from tests.refusals import failing
from tests.stages.at_defaults import RUN

REPLY: dict[str, Any] = {
    "queries": ["oxidation of tea leaves", "why black tea is dark", "enzymes in withered leaves"],
    "hyde_answer": "Leaves darken when enzymes meet air.",
    "intent": "MECHANISM",
    "entities": ["oxidation", "black tea"],
}
JSON = json.dumps(REPLY)
EXPANSION = Expansion.model_validate(REPLY | {"origin": Origin.PASTED, "intent": Intent.MECHANISM})
TEMPLATE = default_template(TemplateTag.QUERY_EXPANSION)


def test_b1_fenced_and_unfenced_replies_are_read() -> None:
    replies = [
        JSON,
        f"\n  {JSON}\n",
        f"```json\n{JSON}\n```",
        f"```JSON {JSON}```",
        f"```\n{JSON}\n```",
        f"Here you are:\n```json\n{JSON}\n```\nAnything else?",
        f"```text\nfirst thoughts\n```\n```json\n{JSON}\n```",
        f"```json\n{JSON}",  # the fence is never closed
        f"```json\n{JSON}\n``` and more",
        json.dumps(REPLY, indent=2),
    ]
    assert [pasted_expansion(reply) for reply in replies] == [EXPANSION] * len(replies)


def test_b1_backticks_inside_a_string_end_no_fence() -> None:
    # A pasted reply may have any number of queries.
    reply = {"hyde_answer": "Call ```boil``` first.", "queries": list("abcd")}

    pasted = pasted_expansion(f"```json\n{json.dumps(reply)}\n```")

    assert (pasted.hyde_answer, [*pasted.queries]) == (reply["hyde_answer"], reply["queries"])


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        ("I cannot do that.", "Expecting value at line 1, column 1"),
        (f"Sure! {JSON}", "there is text before the JSON object: Expecting value"),
        (f"{JSON} Anything else?", "Extra data at line 1"),
        (f"```json\n{JSON[:-2]}", "Expecting ',' delimiter"),
        (f"[{JSON}]", "there is text before the JSON object: expected a JSON object, found array"),
        ('{"intent": "DEFINITION", "intent": "CRITIQUE"}', "a name occurs twice"),
    ],
)
def test_b1_a_broken_reply_is_an_error_that_names_the_problem(reply: str, wrong: str) -> None:
    with pytest.raises(LLMResponseParseError) as caught:
        pasted_expansion(reply)

    assert wrong in caught.value.parse_error
    assert caught.value.raw_response == reply


@pytest.mark.parametrize(
    ("change", "violations"),
    [
        ({"queries": "one"}, {"queries": "Input should be a valid list"}),
        ({"queries": ["a", 1]}, {"queries.1": "Input should be a valid string"}),
        ({"queries": ["a", " "]}, {"queries.1": "String should have at least 1 character"}),
        ({"hyde_answer": None}, {"hyde_answer": "Input should be a valid string"}),
        ({"intent": ["DEFINITION"]}, {"intent": "Input should be a valid string"}),
        ({"intent": "x" * 51}, {"intent": "String should have at most 50 characters"}),
        ({"entities": {"a": 1}}, {"entities": "Input should be a valid list"}),
        ({"entities": [""]}, {"entities.0": "String should have at least 1 character"}),
        ({"entities": ["a\0"]}, {"entities.0": "Text has a NUL character or half of a surrogate pair"}),
        ({"note": "x"}, {"the object": "Extra inputs are not permitted"}),
        ({"queries": 3, "entities": None}, dict.fromkeys(("queries", "entities"), "Input should be a valid list")),
    ],
)
def test_b1_an_object_of_the_wrong_shape_is_an_error_with_all_that_is_wrong(
    change: dict[str, Any], violations: dict[str, str]
) -> None:
    with failing(FailureCategory.EXPANSION_SCHEMA_INVALID, re.escape(listed_violations(violations))):
        pasted_expansion(json.dumps(REPLY | change))


def test_b1_an_object_without_any_of_the_keys_is_no_expansion() -> None:
    with failing(FailureCategory.EXPANSION_SCHEMA_INVALID, "has none of entities, hyde_answer, intent, queries"):
        pasted_expansion('{"answer": "yes"}')


def test_b1_a_missing_key_is_empty() -> None:
    for key, empty in {"queries": (), "hyde_answer": "", "intent": None, "entities": ()}.items():
        pasted = pasted_expansion(json.dumps({name: value for name, value in REPLY.items() if name != key}))
        assert pasted == EXPANSION.model_copy(update={key: empty})


def test_intents_are_read_in_any_case_any_text_is_one_and_empty_is_none() -> None:
    read = {"mechanism": Intent.MECHANISM, " Critique ": Intent.CRITIQUE, "buy a\nteapot": "buy a teapot", "": None}
    assert {written: pasted_expansion(json.dumps({"intent": written})).intent for written in read} == read


async def expand(chat: ScriptedChat, *, n: int = 3, template: str = TEMPLATE) -> Expansion:
    return await expand_query("Why is black tea dark?", template=template, chat=chat, model="m", settings=RUN, n=n)


async def test_the_model_is_asked_once_under_a_schema() -> None:
    chat = ScriptedChat(lambda call: JSON)

    expansion = await expand(chat)

    assert expansion == EXPANSION.model_copy(update={"origin": Origin.MODEL})
    (call,) = chat.calls
    assert (call.model, call.temperature, call.json_schema) == ("m", 0.2, expansion_json_schema(3))
    assert call.messages[1].content == expansion_prompt("Why is black tea dark?", 3, template=TEMPLATE)


@pytest.mark.parametrize("number", [2, 4])
async def test_another_number_of_queries_than_asked_for_is_an_error(number: int) -> None:
    with failing(FailureCategory.EXPANSION_SCHEMA_INVALID, f"queries: expected {number} entries, found 3"):
        await expand(ScriptedChat(lambda call: JSON), n=number)


def test_the_question_is_inside_a_fence() -> None:
    prompt = expansion_prompt("{n}? ignore this", 4, template="{n}: {query}")

    assert prompt.startswith("4: <<< question ")
    assert "\n{n}? ignore this\n" in prompt


@given(st.text() | st.recursive(st.none() | st.booleans() | st.text() | st.floats(), st.lists).map(json.dumps))
def test_every_reply_gives_an_expansion_or_a_typed_error(reply: str) -> None:
    try:
        expansion = pasted_expansion(reply)
    except LLMResponseParseError as error:
        assert error.raw_response == reply
    else:
        assert expansion.origin is Origin.PASTED
