"""Chunks that are too short to answer a query."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from schemas.values.corpora import CorpusChunk


class Filtered(NamedTuple):
    """The kept chunks, in order, and how many each filter dropped; filters that dropped none are absent."""

    kept: list[CorpusChunk]
    dropped: dict[str, int]
    kept_short: dict[str, int]
    """How many each filter would have dropped, where all are kept because no longer one was found."""


def drop_short(chunks: Iterable[CorpusChunk], *, min_chars: int, min_words: int, keep_if_all_short: bool) -> Filtered:
    """The chunks with at least so many characters and words (separated by white space); 0 disables a filter.

    A blank chunk is always dropped. A chunk counts for the first filter that drops it: blank, min_chars, min_words.
    With `keep_if_all_short` the short chunks are kept when the filters would leave none.
    """
    kept: list[CorpusChunk] = []
    short: list[CorpusChunk] = []
    dropped: Counter[str] = Counter()
    for chunk in chunks:
        words = len(chunk.content.split())
        if not words:
            dropped["blank"] += 1
        elif len(chunk.content) < min_chars:
            dropped["min_chars"] += 1
            short.append(chunk)
        elif words < min_words:
            dropped["min_words"] += 1
            short.append(chunk)
        else:
            kept.append(chunk)
    if kept or not short or not keep_if_all_short:
        return Filtered(kept, dict(dropped), {})
    blank = dropped.pop("blank", 0)
    return Filtered(short, {"blank": blank} if blank else {}, dict(dropped))


def dropped_in_words(dropped: Mapping[str, int], *, min_chars: int, min_words: int) -> list[str]:
    """What each filter dropped, with its threshold and the name of its value.

    >>> dropped_in_words({"min_words": 40}, min_chars=0, min_words=150)
    ['40 with fewer than 150 words (retrieval.min_word_count)']
    """
    words = {
        "blank": "blank",
        "min_chars": f"with fewer than {min_chars} characters (retrieval.min_char_count)",
        "min_words": f"with fewer than {min_words} words (retrieval.min_word_count)",
    }
    return [f"{count} {words[name]}" for name, count in dropped.items()]
