"""Text split into sentences, each with its lines."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import sentencex

from schemas.full_text import ENGLISH, LANGUAGES
from stages.corpora.blocks import Block
from stages.corpora.measures import Measure

_SPACE = re.compile(r"\s")
_AT_ONCE: Final = 10_000
"""The splitter's time grows with the square of the length of some texts. A longer paragraph is split in parts."""


class Sentence(NamedTuple):
    """A sentence, or a part of one that fits into a chunk."""

    text: str
    """Without line ends and spaces around it; never empty."""
    start_line: int
    end_line: int
    length: int
    """By the measure of the corpus."""


def sentences(block: Block, *, measure: Measure, most: int, language: str = ENGLISH) -> Iterator[Sentence]:
    """The sentences of a block of text, in order. One that is longer than `most` is split.

    If the block's text does not have a line for each of the block's lines, each sentence has all lines of the block.
    """
    line, counted = block.start_line, 0
    is_aligned = block.text.count("\n") == block.end_line - block.start_line
    for start, end in _spans(block.text, LANGUAGES[language]):
        text = block.text[start:end].strip()
        if not text:
            continue
        first, last = block.start_line, block.end_line
        if is_aligned:
            lead = len(block.text[start:end]) - len(block.text[start:end].lstrip())
            line += block.text.count("\n", counted, start + lead)
            counted = start + lead
            first, last = line, line + text.count("\n")
        for piece in measure.pieces(" ".join(text.split()), most):
            yield Sentence(piece, first, last, measure.length(piece))


def plain_sentences(text: str, *, language: str = ENGLISH) -> Iterator[str]:
    """The sentences of running text with the spaces between them, in order."""
    for start, end in _spans(text, LANGUAGES[language]):
        yield text[start:end]


def _spans(text: str, code: str) -> Iterator[tuple[int, int]]:
    # The splitter treats line ends as ends of sentences, and fails at some of the rarer spaces.
    start = 0
    for part in _parts(_SPACE.sub(" ", text)):
        for sentence in sentencex.segment(code, part):
            yield start, start + len(sentence)
            start += len(sentence)


def _parts(text: str) -> Iterator[str]:
    """The text in parts of at most _AT_ONCE characters, which end after a space where they have one."""
    start = 0
    while len(text) - start > _AT_ONCE:
        end = (text.rfind(" ", start, start + _AT_ONCE) + 1) or start + _AT_ONCE
        yield text[start:end]
        start = end
    yield text[start:]
