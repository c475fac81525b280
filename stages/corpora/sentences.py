"""Text split into sentences, each with its lines."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import sentencex

from stages.corpora.blocks import Block

_LANGUAGE = "en"
_SPACE = re.compile(r"\s")
_LINK_TARGET = re.compile(r"\]\([^)\s]*(?:\s+\"[^\"]*\")?\)")


class Sentence(NamedTuple):
    """A sentence, or a part of one that fits into a chunk."""

    text: str
    """Without line ends and spaces around it; never empty."""
    start_line: int
    end_line: int
    words: int


def count_words(markdown: str) -> int:
    """The number of words of a text, without link targets; a word has at least one letter or digit.

    >>> count_words("- see [the **leaf**](http://example.org/a/b) - twice")
    4
    """
    return sum(any(map(str.isalnum, part)) for part in _LINK_TARGET.sub("]", markdown).split())


def sentences(block: Block, *, max_words: int) -> Iterator[Sentence]:
    """The sentences of a block of text, in order. One of more than `max_words` words is split.

    If the block's text does not have a line for each of the block's lines, each sentence has all lines of the block.
    """
    is_aligned = block.text.count("\n") == block.end_line - block.start_line
    for start, end in _spans(block.text):
        text = block.text[start:end].strip()
        if not text:
            continue
        first, last = block.start_line, block.end_line
        if is_aligned:
            lead = len(block.text[start:end]) - len(block.text[start:end].lstrip())
            first = block.start_line + block.text.count("\n", 0, start + lead)
            last = first + text.count("\n")
        for piece in _pieces(" ".join(text.split()), max_words):
            yield Sentence(piece, first, last, count_words(piece))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    # The splitter treats line ends as ends of sentences, and fails at some of the rarer spaces.
    start = 0
    for sentence in sentencex.segment(_LANGUAGE, _SPACE.sub(" ", text)):
        yield start, start + len(sentence)
        start += len(sentence)


def _pieces(text: str, max_words: int) -> Iterator[str]:
    parts = text.split(" ")
    if len(parts) <= max_words:
        yield text
        return
    for start in range(0, len(parts), max_words):
        yield " ".join(parts[start : start + max_words])
