"""Scoring from the passages around quotes: passages, prompt and schema of the reply."""

from jsonschema import Draft202012Validator

from schemas.values.participants import PHQ8Item
from stages.participants.extract import passages_of
from stages.participants.score import scoring_call
from stages.participants.score_prompt import NOTHING_SAID
from stages.participants.score_reply import evidence_json_schema, item_answers
from tests.stages.at_defaults import assemble_prompt, scoring_plan
from tests.stages.participants.builders import reference

SAID = """\
Ellie: how do you sleep
Participant: i lie awake
Participant: most nights
Ellie: i see
Participant: it wears "me" out
Ellie: bye"""
PASSAGES = {PHQ8Item.SLEEP: "i lie awake / most nights", PHQ8Item.TIRED: 'it wears "me" out'}
PLAN = scoring_plan(model="scorer", timeout_s=9, passages=PASSAGES, hold_to_schema=True, max_text_chars=11)


def test_a_passage_is_the_turn_of_each_quote_once() -> None:
    quotes = {
        PHQ8Item.SLEEP: ("i lie awake", "most nights"),
        PHQ8Item.TIRED: ('it wears "me" out', "lie awake"),
        PHQ8Item.MOVING: (),
    }

    assert passages_of(SAID, quotes) == {
        PHQ8Item.SLEEP: "i lie awake / most nights",
        PHQ8Item.TIRED: 'it wears "me" out ... i lie awake / most nights',
    }


def test_the_prompt_shows_the_passages_the_references_and_not_the_transcript() -> None:
    items = {PHQ8Item.SLEEP: (reference("badly", score=2),)}

    _, user = assemble_prompt(SAID, items, {1: "badly"}, passages=PASSAGES).messages

    lines = user.content.split("\n")
    assert next(line for line in lines if line.startswith("PHQ8_Sleep")).endswith(': "i lie awake / most nights"')
    assert next(line for line in lines if line.startswith("PHQ8_Tired")).endswith(": \"it wears 'me' out\"")
    assert sum(line.endswith(NOTHING_SAID) for line in lines) == 6
    assert "(PHQ8_Sleep Score: 2)\nbadly\n" in user.content
    assert "how do you sleep" not in user.content


def test_few_shot_without_references_is_zero_shot() -> None:
    few_shot = assemble_prompt(SAID, {}, {}, passages=PASSAGES)
    assert few_shot == assemble_prompt(SAID, None, {}, passages=PASSAGES)


def test_a_reply_repeats_its_passage_and_scores_what_has_one() -> None:
    schema = scoring_call(assemble_prompt(SAID, None, {}, passages=PASSAGES), plan=PLAN).json_schema
    assert schema == evidence_json_schema(PASSAGES, max_text_chars=11)
    validator = Draft202012Validator(schema)
    reply = {
        item.evidence_key: {"evidence": PASSAGES.get(item, NOTHING_SAID)[:11], "score": 2, "confidence": 3}
        if item in PASSAGES
        else {"evidence": NOTHING_SAID, "score": "N/A", "confidence": 1}
        for item in PHQ8Item
    }

    assert validator.is_valid(reply)
    for item, score in ((PHQ8Item.SLEEP, "N/A"), (PHQ8Item.SLEEP, 4), (PHQ8Item.MOVING, 0)):
        other = reply | {item.evidence_key: reply[item.evidence_key] | {"score": score}}
        assert not validator.is_valid(other)
    answers = item_answers(reply, raw="", severity_mode="strict")
    assert {item: answer.score for item, answer in answers.items() if answer.score is not None} == {
        PHQ8Item.SLEEP: 2,
        PHQ8Item.TIRED: 2,
    }
