"""The final phrases of a request."""

import pytest

from stages.tags.phrases import final_phrases, head_of, normalise


@pytest.mark.parametrize(
    ("phrase", "normalized"),
    [
        ("Big_Shirt", "big shirt"),
        ("\tbig \n shirt_", "big shirt"),
        ("c++", "c++"),
        ("Straße", "straße"),
        ("__", ""),
        ("", ""),
    ],
)
def test_phrases_are_normalised(phrase: str, normalized: str) -> None:
    assert normalise(phrase) == normalized
    assert normalise(normalized) == normalized


@pytest.mark.parametrize(
    ("normalized", "head"),
    [("big red shirt", "shirt"), ("shirt", None), ("on tv", None), ("look at the", None), ("of mice", "mice")],
)
def test_a_head_is_the_last_word_of_several_if_it_is_no_stop_word(normalized: str, head: str | None) -> None:
    assert head_of(normalized) == head


def test_heads_come_after_all_phrases_and_only_if_they_are_new() -> None:
    phrases = final_phrases(["Red_Hat", "hat", "blue hat", "green coat"])

    assert [(phrase.phrase, phrase.lookup, phrase.is_head) for phrase in phrases] == [
        ("Red_Hat", "red_hat", False),
        ("hat", "hat", False),
        ("blue hat", "blue_hat", False),
        ("green coat", "green_coat", False),
        ("coat", "coat", True),
    ]
