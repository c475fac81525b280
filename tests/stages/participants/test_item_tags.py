"""Tags of chunks (Spec 34)."""

import pytest

from stages.participants.chunking import phrases, tag_chunk

EVERY_PHRASE = [(item, phrase) for item, of_item in phrases().items() for phrase in of_item]


def test_a_phrase_tags_its_own_item_and_no_other() -> None:
    tagged = {phrase: tag_chunk(f"Participant: {phrase}") for _, phrase in EVERY_PHRASE}

    assert tagged == {phrase: (item.evidence_key,) for item, phrase in EVERY_PHRASE}


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
