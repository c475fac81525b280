"""Keys of replies, matched with items."""

import pytest

from stages.participants.score_reply import key_shape, match_keys
from stages.replies import RepairStep


@pytest.mark.parametrize("key", ["phq8_nointerest", "NoInterest", "PHQ-8 No Interest", "no_interest", "PHQ8NoInterest"])
def test_another_spelling_of_a_key_is_matched_and_recorded(key: str) -> None:
    keys = match_keys({key: ["a"]})

    assert keys.members == {"PHQ8_NoInterest": ["a"]}
    assert keys.repairs({key: ["a"]}) == (RepairStep.NEAR_KEYS,)


@pytest.mark.parametrize("key", ["PHQ8_Slep", "Sleeping", "PHQ9_Sleep", "", "PHQ8_"])
def test_a_guess_is_not_made(key: str) -> None:
    keys = match_keys({key: ["a"]})

    assert (keys.members, keys.unknown) == ({}, (key_shape(key),))
    assert keys.repairs({key: ["a"]}) == (RepairStep.UNKNOWN_KEYS,)


def test_two_keys_of_one_item_are_repeated_unless_their_values_are_the_same() -> None:
    assert match_keys({"PHQ8_Sleep": ["a"], "sleep": ["b"]}).repeated == ("PHQ8_Sleep",)
    assert match_keys({"PHQ8_Sleep": ["a"], "sleep": ["a"]}).repeated == ()


def test_a_shape_has_no_word_of_the_key() -> None:
    assert key_shape("PHQ8_Mood") == "PHQ8_xxxx"
    assert key_shape("my wife left in 2019") == "xx xxxx xxxx xx 9999"
    assert len(key_shape("a" * 1000)) == 40
