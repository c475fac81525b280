"""Sentences of an answer, and the judge of each."""

import json
from collections.abc import Callable, Mapping

import pytest

from schemas.errors import LLMResponseParseError
from schemas.values.chat import ChatCall
from schemas.values.evaluations import JudgedAnswer, SplitAnswer, Tally
from stages.evaluations.judge import MOST_SENTENCES, judge_answer, score_answer, sentences_of, split_answer
from tests.fakes.chat import ScriptedChat
from tests.stages.at_defaults import settings

PASSAGES = {"S1": "Tea is brown.", "S2": "Milk is white.", "S3": "Steel is grey."}


def split(answer: str, reference: str | None = None) -> SplitAnswer:
    return split_answer("Which colour?", answer, labels=list(PASSAGES), passages=PASSAGES, reference=reference)


async def judge(found: SplitAnswer, chat: ScriptedChat) -> JudgedAnswer:
    run = settings(model={"judge_model": "judge"}, ragq={"reply_retries": 1})
    return await judge_answer(found, chat=chat, settings=run)


def by_purpose(decisions: Mapping[str, str], otherwise: str = "accept") -> ScriptedChat:
    """Decides by what is asked, such as `alone 1 S2`."""
    return ScriptedChat(
        lambda call: json.dumps({"decision": decisions.get(call.purpose.removeprefix("judge "), otherwise)})
    )


def asked(judged: JudgedAnswer) -> list[str]:
    return [" ".join((one.check, str(one.sentence), *one.cited)) for one in judged.verdicts]


async def test_one_source_is_asked_about_once_and_a_sentence_without_one_never() -> None:
    found = split("Tea is brown [S1]. I like it.")
    chat = by_purpose({})

    judged = await judge(found, chat)

    assert (asked(judged), judged.validator) == (["together 1 S1"], "judge")
    (call,) = chat.calls
    assert "Tea is brown." in call.messages[1].content and "Milk" not in call.messages[1].content
    assert (call.temperature, call.json_mode) == (0.0, True)


async def test_a_source_that_the_others_make_superfluous_is_no_support() -> None:
    found = split("Tea is brown [S1][S2].")

    judged = await judge(found, by_purpose({"alone 1 S2": "reject"}))

    assert asked(judged) == ["together 1 S1 S2", "alone 1 S1", "alone 1 S2", "without 1 S2"]
    scores = score_answer(found, judged)
    assert scores.supported == Tally(yes=1, no=0, undecided=0)
    assert scores.citations == Tally(yes=1, no=1, undecided=0)


async def test_sources_that_support_a_sentence_only_together_are_both_support() -> None:
    found = split("Tea is brown, milk white [S1][S2].")
    says = {f"alone 1 {label}": "reject" for label in ("S1", "S2")} | {
        f"without 1 {label}": "reject" for label in ("S1", "S2")
    }

    assert score_answer(found, await judge(found, by_purpose(says))).citations == Tally(yes=2, no=0, undecided=0)


async def test_what_the_judge_is_unsure_about_is_undecided_and_never_a_no() -> None:
    found = split("Tea is brown [S1]. Milk is white [S2][S3]. Nobody knows [S9].", reference="Brown. White.")

    judged = await judge(
        found, by_purpose({"together 1 S1": "unsure", "alone 2 S3": "unsure", "in_answer 2": "unsure"})
    )
    scores = score_answer(found, judged)

    assert scores.supported == Tally(yes=1, no=0, undecided=1)
    assert scores.citations == Tally(yes=1, no=0, undecided=2)
    assert (scores.sentences, scores.uncited, scores.unknown_citations) == (3, 1, 1)
    assert scores.complete == Tally(yes=1, no=0, undecided=1)
    assert scores.correct == Tally(yes=3, no=0, undecided=0)


async def test_without_a_reference_answer_there_is_no_correctness() -> None:
    found = split("Tea is brown [S1].")

    scores = score_answer(found, await judge(found, by_purpose({})))

    assert (scores.correct, scores.complete) == (None, None)


def replying(*replies: str) -> Callable[[ChatCall], str]:
    remaining = iter(replies)
    return lambda call: next(remaining)


async def test_a_reply_that_is_no_verdict_is_asked_for_again_and_then_the_stage_fails() -> None:
    found = split("Tea is brown [S1].")

    judged = await judge(found, ScriptedChat(replying("Well, yes.", '{"decision": "accept"}')))
    assert len(judged.reasks) == 1

    with pytest.raises(LLMResponseParseError):
        await judge(found, ScriptedChat(replying("Well, yes.", '{"decision": "maybe"}')))


LABELS = ("S1", "S2", "S3")


def cited(markdown: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(one.text, one.cited, one.unknown) for one in sentences_of(markdown, LABELS).first]


def test_each_sentence_has_the_labels_inside_it_and_its_text_has_none() -> None:
    assert cited("Tea is brown [S1]. Milk, [S2, S1] they say, is white [S9].\n\nWater is clear.") == [
        ("Tea is brown.", ("S1",), ()),
        ("Milk, they say, is white.", ("S2", "S1"), ("S9",)),
        ("Water is clear.", (), ()),
    ]


def test_a_citation_after_the_full_stop_belongs_to_the_sentence_before_it_unless_that_has_its_own() -> None:
    assert cited("Tea is brown. [S1][S2] Milk is white. [S3]") == [
        ("Tea is brown.", ("S1", "S2"), ()),
        ("Milk is white.", ("S3",), ()),
    ]
    assert cited("Tea is brown [S1]. [S2] says that milk is white.") == [
        ("Tea is brown.", ("S1",), ()),
        ("says that milk is white.", ("S2",), ()),
    ]


def test_sentences_after_the_first_hundred_are_counted_and_left_out() -> None:
    found = sentences_of(" ".join(f"Fact number {number} holds." for number in range(MOST_SENTENCES + 7)), LABELS)

    assert (len(found.first), found.left_out) == (MOST_SENTENCES, 7)


def test_the_split_has_the_passages_that_are_cited_and_the_sentences_of_the_reference() -> None:
    split = split_answer(
        "Why?",
        "It is so [S2]. It is not [S7].",
        labels=LABELS,
        passages={"S1": "one", "S2": "two", "S3": "three"},
        reference="It is so. Always.",
    )

    assert [(passage.label, passage.text) for passage in split.passages] == [("S2", "two")]
    assert split.reference == ("It is so.", "Always.")
    assert split.sentences[1].unknown == ("S7",)
