"""Sentences with their lines, and how many words they have."""

from collections.abc import Iterator

import pytest

from stages.corpora.blocks import Block, BlockKind
from stages.corpora.cut import Sentence, sentences
from stages.corpora.works import Words, count_words


def block(text: str, *, start: int = 1, end: int | None = None) -> Block:
    return Block(BlockKind.TEXT, start, start + text.count("\n") if end is None else end, text)


def split(text: Block, *, most: int) -> Iterator[Sentence]:
    return sentences(text, measure=Words(), most=most)


def test_abbreviations_end_no_sentence_and_each_sentence_knows_its_lines() -> None:
    found = list(split(block("Dr. Leaf steeps\nit, e.g. at noon. Then\nhe waits.", start=7), most=300))

    assert found == [Sentence("Dr. Leaf steeps it, e.g. at noon.", 7, 8, 7), Sentence("Then he waits.", 8, 9, 3)]


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
