"""Phrases, and files of them."""

import pytest

from schemas.values.tags import MAX_CHARS, MAX_PHRASES, PhraseSet
from stages.tags.phrases import final_phrases, normalise, parse_phrase_sets


@pytest.mark.parametrize(
    ("phrase", "normalized"), [("\tBig \n shirt_", "big shirt"), ("c++", "c++"), ("Straße", "straße"), ("__", "")]
)
def test_phrases_are_normalised(phrase: str, normalized: str) -> None:
    assert normalise(phrase) == normalise(normalized) == normalized


def test_heads_come_after_all_phrases_and_only_if_they_are_new() -> None:
    phrases = final_phrases(["Red_Hat", "hat", "blue hat", "green coat"])

    assert [(phrase.phrase, phrase.lookup, phrase.is_head) for phrase in phrases] == [
        ("Red_Hat", "red_hat", False),
        ("hat", "hat", False),
        ("blue hat", "blue_hat", False),
        ("green coat", "green_coat", False),
        ("coat", "coat", True),
    ]


def test_a_line_is_a_list_an_object_or_phrases_with_commas() -> None:
    data = b'big shirt, hat\n\n["red, or blue"]\n{"id": "q-7", "phrases": ["coat"], "context_tags": ["winter"]}\n'

    found = parse_phrase_sets(data, file="p")

    assert (list(found.value), found.problems) == (
        [
            PhraseSet(id="1", phrases=("big shirt", "hat")),
            PhraseSet(id="2", phrases=("red, or blue",)),
            PhraseSet(id="q-7", phrases=("coat",), context_tags=("winter",)),
        ],
        (),
    )


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("[secret", "Invalid JSON: expected value at line 1 column 2"),
        ('{"phrases": "secret"}', "phrases: Input should be a valid array"),
        ('["secret", 4]', "1: Input should be a valid string"),
        ('{"id": "secret words", "phrases": []}', "id: String should match pattern '^[A-Za-z0-9._:-]{1,64}$'"),
        ('{"id": true, "phrases": []}', "id: Input should be a valid string"),
        ('{"id": "a"}', "phrases: Field required"),
        ('{"phrases": [], "secret": 1}', "Extra inputs are not permitted"),
        ('{"phrases": [], "context_tags": 3}', "context_tags: Input should be a valid array"),
        ('["secret \\ud83d"]', "Invalid JSON: unexpected end of hex escape at line 1 column 16"),
        ("secret \0", "0: Text has a NUL character or half of a surrogate pair"),
        ("s" * (MAX_CHARS + 1), f"0: String should have at most {MAX_CHARS} characters"),
        ("," * MAX_PHRASES, f"Tuple should have at most {MAX_PHRASES} items after validation, not {MAX_PHRASES + 1}"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line_and_without_its_words(line: str, found: str) -> None:
    (problem,) = parse_phrase_sets(f"hat\n{line}\n".encode("utf-8", "surrogatepass"), file="p").problems

    assert (problem.line, problem.found) == (2, found)
    assert "secret" not in str(problem)
