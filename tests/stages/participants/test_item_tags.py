"""Tags of chunks (Spec 34)."""

import re

import pytest

from schemas.values.phq8 import PHQ8Item
from stages.participants.item_tags import phrases, tag_chunk

EVERY_PHRASE = [(item, phrase) for item, of_item in phrases().items() for phrase in of_item]


@pytest.mark.parametrize("item", PHQ8Item)
def test_every_item_has_30_to_60_phrases_in_lower_case(item: PHQ8Item) -> None:
    of_item = phrases()[item]

    assert 30 <= len(of_item) <= 60
    assert all(re.fullmatch(r"[a-z]+(['-]?[a-z]+)*( [a-z]+(['-]?[a-z]+)*)*", phrase) for phrase in of_item)


def test_no_phrase_is_repeated() -> None:
    assert len({phrase for _, phrase in EVERY_PHRASE}) == len(EVERY_PHRASE)


def test_a_phrase_tags_its_own_item_and_no_other() -> None:
    tagged = {phrase: tag_chunk(f"Participant: {phrase}") for _, phrase in EVERY_PHRASE}

    assert tagged == {phrase: (item.evidence_key,) for item, phrase in EVERY_PHRASE}


def test_no_phrase_contains_another_of_its_item() -> None:
    covered = [
        phrase
        for item, phrase in EVERY_PHRASE
        if any(re.search(rf"\b{other}\b", phrase) for other in phrases()[item] if other != phrase)
    ]

    assert covered == []


@pytest.mark.parametrize(
    "text",
    [
        "Participant: since i retired i read a lot",
        "Participant: he attired himself",
        "Participant: two failures of the engine",
        "Participant: the space outside",
        "Participant: a guiltless day with appetizers",
        "Participant: it was slow\nParticipant: motion is hard",
        "Ellie: how are you doing today",
        "",
    ],
)
def test_no_phrase_matches_inside_other_words_or_across_lines(text: str) -> None:
    assert tag_chunk(text) == ()


@pytest.mark.parametrize(
    "text",
    ["i can't sleep", "i cant sleep", "i can’t sleep", "I CAN'T  SLEEP.", "<sigh> can't\tsleep, no", "(can't sleep)"],
)
def test_case_spacing_and_apostrophes_do_not_matter(text: str) -> None:
    assert tag_chunk(text) == ("PHQ8_Sleep",)


def test_tags_are_alphabetical_and_unique() -> None:
    text = "Participant: i'm exhausted, so tired\nParticipant: i feel sad\nParticipant: no appetite either"

    assert tag_chunk(text) == ("PHQ8_Appetite", "PHQ8_Depressed", "PHQ8_Tired")
