"""Sentences with their lines, and how many words they have."""

from collections.abc import Iterator

import pytest

from stages.corpora.blocks import Block, BlockKind
from stages.corpora.measures import Words, count_words
from stages.corpora.sentences import Sentence, sentences


def block(text: str, *, start: int = 1, end: int | None = None) -> Block:
    return Block(BlockKind.TEXT, start, start + text.count("\n") if end is None else end, text)


def split(text: Block, *, most: int) -> Iterator[Sentence]:
    return sentences(text, measure=Words(), most=most)


def test_abbreviations_end_no_sentence_and_each_sentence_knows_its_lines() -> None:
    found = list(split(block("Dr. Leaf steeps\nit, e.g. at noon. Then\nhe waits.", start=7), most=300))

    assert found == [Sentence("Dr. Leaf steeps it, e.g. at noon.", 7, 8, 7), Sentence("Then he waits.", 8, 9, 3)]


def test_sentences_have_all_lines_of_a_block_whose_text_has_others() -> None:
    found = list(split(block("Steep. Wait.", start=3, end=5), most=300))

    assert [(sentence.start_line, sentence.end_line) for sentence in found] == [(3, 5), (3, 5)]


def test_a_sentence_longer_than_a_chunk_is_split() -> None:
    found = list(split(block("leaf " * 7), most=3))

    assert [sentence.text for sentence in found] == ["leaf leaf leaf", "leaf leaf leaf", "leaf"]


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("", 0),
        ("| --- | --- |", 0),
        ("**Steep** the _leaves_ - briefly.", 4),
        ('a [very long](http://example.org/a "a title of its own") link', 4),
        ("don't re-steep 2 cups", 4),
    ],
)
def test_markup_and_link_targets_are_no_words(markdown: str, words: int) -> None:
    assert count_words(markdown) == words


def test_a_very_long_paragraph_is_split_into_all_its_sentences() -> None:
    text = " ".join(f"Sentence {number} is about leaves." for number in range(2_000))

    found = [sentence.text for sentence in split(block(text), most=300)]

    assert " ".join(found) == text
    assert sum(sentence.endswith("leaves.") for sentence in found) == 2_000


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("english", ["Er kam am 3.", "Mai.", "Dann ging er."]),
        ("german", ["Er kam am 3. Mai.", "Dann ging er."]),
        ("polish", ["Er kam am 3.", "Mai.", "Dann ging er."]),
        ("simple", ["Er kam am 3.", "Mai.", "Dann ging er."]),
    ],
)
def test_sentences_end_as_the_language_ends_them(language: str, expected: list[str]) -> None:
    found = sentences(block("Er kam am 3. Mai. Dann ging er."), measure=Words(), most=300, language=language)

    assert [sentence.text for sentence in found] == expected
