"""Chunks that are too short to answer a query."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from schemas.values.corpora import CorpusChunk


class Filtered(NamedTuple):
    """The kept chunks, in order, and how many each filter dropped; filters that dropped none are absent."""

    kept: list[CorpusChunk]
    dropped: dict[str, int]


def drop_short(chunks: Iterable[CorpusChunk], *, min_chars: int, min_words: int) -> Filtered:
    """The chunks with at least so many characters and words (separated by white space); 0 disables a filter.

    A blank chunk is always dropped. A chunk counts for the first filter that drops it: blank, min_chars, min_words.
    """
    kept: list[CorpusChunk] = []
    dropped: Counter[str] = Counter()
    for chunk in chunks:
        words = len(chunk.content.split())
        if not words:
            dropped["blank"] += 1
        elif len(chunk.content) < min_chars:
            dropped["min_chars"] += 1
        elif words < min_words:
            dropped["min_words"] += 1
        else:
            kept.append(chunk)
    return Filtered(kept, dict(dropped))
