"""Sentences of an answer, and the judge of each."""

import json
from collections.abc import Mapping

import pytest

from schemas.errors import LLMResponseParseError
from schemas.values.evaluations import JudgedAnswer, SplitAnswer, Tally
from stages.evaluations.judge import MOST_SENTENCES, judge_answer, score_answer, sentences_of, split_answer
from tests.fakes.chat import ScriptedChat, replying
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
    scores = score_answer(found, judged)

    assert (asked(judged), judged.validator) == (["together 1 S1"], "judge")
    (call,) = chat.calls
    assert "Tea is brown." in call.messages[1].content and "Milk" not in call.messages[1].content
    assert (call.temperature, call.json_mode) == (0.0, True)
    assert (scores.correctness, scores.completeness) == (None, None), "there is no reference answer"


async def test_a_source_is_support_if_the_others_need_it_or_it_is_enough_alone() -> None:
    found = split("Tea is brown [S1][S2].")
    rejected = {f"{check} 1 {label}": "reject" for check in ("alone", "without") for label in ("S1", "S2")}

    judged = await judge(found, by_purpose({"alone 1 S2": "reject"}))
    together = await judge(found, by_purpose(rejected))

    assert asked(judged) == ["together 1 S1 S2", "alone 1 S1", "alone 1 S2", "without 1 S2"]
    superfluous = score_answer(found, judged)
    assert superfluous.citation_recall == Tally(yes=1, no=0, undecided=0)
    assert superfluous.citation_precision == Tally(yes=1, no=1, undecided=0)
    assert score_answer(found, together).citation_precision == Tally(yes=2, no=0, undecided=0)


async def test_what_the_judge_is_unsure_about_is_undecided_and_never_a_no() -> None:
    found = split("Tea is brown [S1]. Milk is white [S2][S3]. Nobody knows [S9].", reference="Brown. White.")

    unsure = by_purpose(dict.fromkeys(("together 1 S1", "alone 2 S3", "in_answer 2"), "unsure"))

    scores = score_answer(found, await judge(found, unsure))

    # The third sentence cites a label that the prompt does not have.
    assert scores.citation_recall == Tally(yes=1, no=1, undecided=1)
    assert scores.citation_precision == Tally(yes=1, no=1, undecided=2)
    assert scores.completeness == Tally(yes=1, no=0, undecided=1)
    assert scores.correctness == Tally(yes=3, no=0, undecided=0)


async def test_a_reply_that_is_no_verdict_is_asked_for_again_and_then_the_stage_fails() -> None:
    found = split("Tea is brown [S1].")

    judged = await judge(found, replying("Well, yes.", '{"decision": "accept"}'))
    assert len(judged.reasks) == 1

    with pytest.raises(LLMResponseParseError):
        await judge(found, replying("Well, yes.", '{"decision": "maybe"}'))


LABELS = ("S1", "S2", "S3")


def cited(markdown: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(one.text, one.cited, one.unknown) for one in sentences_of(markdown, LABELS)]


def test_each_sentence_has_the_labels_inside_it_and_its_text_has_none() -> None:
    assert cited("Tea is brown [S1]. Milk, [S2, S1] they say, is white [S9].\n\nWater is clear.") == [
        ("Tea is brown.", ("S1",), ()),
        ("Milk, they say, is white.", ("S2", "S1"), ("S9",)),
        ("Water is clear.", (), ()),
    ]
    # A citation after the full stop belongs to the sentence before it unless that has its own.
    assert cited("Tea is brown. [S1][S2] Milk is white. [S3]") == [
        ("Tea is brown.", ("S1", "S2"), ()),
        ("Milk is white.", ("S3",), ()),
    ]
    assert cited("Tea is brown [S1]. [S2] says that milk is white.") == [
        ("Tea is brown.", ("S1",), ()),
        ("says that milk is white.", ("S2",), ()),
    ]


def test_the_split_has_the_passages_that_are_cited_and_a_hundred_sentences_at_most() -> None:
    found = split("It is so [S2]. It is not [S7].", reference="It is so. Always.")
    long = split(" ".join(f"Fact number {number} holds." for number in range(MOST_SENTENCES + 7)))

    assert found.passages == {"S2": PASSAGES["S2"]}
    assert found.reference == ("It is so.", "Always.")
    assert found.sentences[1].unknown == ("S7",)
    assert (len(long.sentences), long.left_out) == (MOST_SENTENCES, 7)
