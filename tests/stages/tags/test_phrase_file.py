"""Files of phrase sets: three ways to write a set, and every problem with its line."""

import pytest

from schemas.values.tags import PhraseSet
from stages.tags.phrase_file import MAX_CHARS, MAX_PHRASES, parse_phrase_sets


def test_a_line_is_a_list_an_object_or_phrases_with_commas() -> None:
    data = b'big shirt, hat\n\n["red, or blue"]\n{"id": "q-7", "phrases": ["coat"], "context_tags": ["winter"]}\n'

    found = parse_phrase_sets(data, file="p")

    assert found.problems == ()
    assert found.value == (
        PhraseSet(id="1", phrases=("big shirt", "hat")),
        PhraseSet(id="2", phrases=("red, or blue",)),
        PhraseSet(id="q-7", phrases=("coat",), context_tags=("winter",)),
    )


def test_no_phrase_is_a_set_too() -> None:
    assert parse_phrase_sets(b"[]\n", file="p").value == (PhraseSet(id="1", phrases=()),)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("[secret", "begins like JSON and is none"),
        ('{"phrases": "secret"}', "has phrases that are no list of strings"),
        ('["secret", 4]', "has phrases that are no list of strings"),
        ('{"id": "secret words", "phrases": []}', "has an id that looks like text"),
        ('{"id": true, "phrases": []}', "has an id that is neither a string nor a whole number"),
        ('{"id": "a"}', "has no phrases"),
        ('{"phrases": [], "secret": 1}', "has 1 keys that nothing is done with"),
        ('{"phrases": [], "context_tags": 3}', "has context_tags that are no list of strings"),
        ('["secret \\ud83d"]', "has phrases with characters that Postgres cannot store"),
        ("secret \0", "has phrases with characters that Postgres cannot store"),
        ("s" * (MAX_CHARS + 1), f"has one of its phrases with {MAX_CHARS + 1} characters"),
        ("," * MAX_PHRASES, f"has {MAX_PHRASES + 1} phrases"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_without_its_words(line: str, found: str) -> None:
    (problem,) = parse_phrase_sets(f"hat\n{line}\n".encode("utf-8", "surrogatepass"), file="p").problems

    assert (problem.line, problem.found) == (2, found)
    assert "secret" not in str(problem)


def test_ids_are_told_apart_from_numbers_too() -> None:
    (problem,) = parse_phrase_sets(b'{"id": 2, "phrases": []}\nhat\n', file="p").problems

    assert (problem.line, problem.found) == (2, "has the id of line 1")


def test_everything_that_is_wrong_is_told_at_once() -> None:
    problems = parse_phrase_sets(b'[\nhat\n{"id": " ", "phrases": 1}\n', file="p").problems

    assert [problem.line for problem in problems] == [1, 3, 3]


def test_a_file_without_phrases_is_a_problem() -> None:
    (problem,) = parse_phrase_sets(b"\n \n", file="p").problems

    assert problem.found == "has no phrases"


def test_other_encodings_are_refused() -> None:
    (problem,) = parse_phrase_sets(b"caf\xe9\n", file="p").problems

    assert problem.found == "is not UTF-8"
