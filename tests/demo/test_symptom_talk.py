import random
from collections import Counter

import pytest

from demo.conversation import Conversation
from demo.persona import draw_persona
from demo.phrasebook import read
from demo.symptom_talk import Manner, draw_manner, implied_turns, symptom_turns
from demo.voice import Voice
from schemas.values.phq8 import PHQ8Item

OFTEN = {score: set(read("words")[f"often_{score}"] + read("items/sleep")[f"often_{score}"]) for score in (1, 2, 3)}


def someone(seed: int) -> Conversation:
    rng = random.Random(seed)
    persona = draw_persona(rng)._replace(hesitation=0.0)
    return Conversation(persona, Voice(persona, [""], rng, set()), rng)


def sentence_about(item: PHQ8Item, score: int, manner: Manner, seed: int) -> str:
    turns = symptom_turns(someone(seed), item, score, manner)
    return " ".join(value for speaker, value in turns if speaker == "Participant")


@pytest.mark.parametrize("manner", [Manner.PLAIN, Manner.HEDGED, Manner.RETRACTED])
@pytest.mark.parametrize("score", [1, 2, 3])
@pytest.mark.parametrize("item", PHQ8Item)
def test_a_symptom_is_described_with_the_frequency_of_its_score(item: PHQ8Item, score: int, manner: Manner) -> None:
    for seed in range(10):
        text = sentence_about(item, score, manner, seed)
        assert any(often in text for often in OFTEN[score])


@pytest.mark.parametrize("item", PHQ8Item)
@pytest.mark.parametrize("score", [0, 1, 2, 3])
def test_every_level_of_an_item_has_several_dozen_sentences(item: PHQ8Item, score: int) -> None:
    manner = Manner.PLAIN if score else Manner.DENIED
    assert len({sentence_about(item, score, manner, seed) for seed in range(200)}) > 100


@pytest.mark.parametrize("manner", [Manner.IMPLIED, Manner.UNMENTIONED])
def test_what_is_not_asked_has_no_turns_of_its_own(manner: Manner) -> None:
    assert symptom_turns(someone(1), PHQ8Item.SLEEP, 2, manner) == []


@pytest.mark.parametrize("item", PHQ8Item)
def test_a_remark_implies_a_symptom_without_saying_how_often(item: PHQ8Item) -> None:
    remarks = {value for seed in range(30) for _, value in implied_turns(someone(seed), item)}
    every = set().union(*OFTEN.values())
    assert [remark for remark in remarks if any(f" {often} " in f" {remark} " for often in every)] == []


def test_a_score_of_zero_is_never_affirmed() -> None:
    rng = random.Random(1)
    drawn = Counter(draw_manner(0, rng) for _ in range(300))
    assert set(drawn) == {Manner.DENIED, Manner.OVERCOME, Manner.UNMENTIONED}


def test_any_other_score_is_described_in_five_manners() -> None:
    rng = random.Random(1)
    drawn = Counter(draw_manner(2, rng) for _ in range(300))
    assert set(drawn) == {Manner.PLAIN, Manner.HEDGED, Manner.RETRACTED, Manner.IMPLIED, Manner.UNMENTIONED}
