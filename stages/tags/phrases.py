"""The phrases of a request, normalised for lookup."""

from collections.abc import Iterable, Iterator, Sequence

from schemas.values.tags import Phrase
from stages.tags.stop_words import STOP_WORDS

MIN_HEAD_CHARS = 3


def normalise(phrase: str) -> str:
    """The phrase in lower case, with single spaces for `_` and for runs of white space, and none around it.

    >>> normalise("  Big__Shirt ")
    'big shirt'
    """
    return " ".join(phrase.lower().replace("_", " ").split())


def lookup_of(phrase: str) -> str:
    """The phrase in the form of a token of a vocabulary.

    >>> lookup_of("Big  Shirt")
    'big_shirt'
    """
    return normalise(phrase).replace(" ", "_")


def head_of(normalized: str) -> str | None:
    """The last word of a normalised phrase of at least two words; None if it is too short or a stop word.

    >>> head_of("big shirt"), head_of("shirt"), head_of("sit in"), head_of("room of the")
    ('shirt', None, None, None)
    """
    *before, last = normalized.split() or [""]
    return last if before and len(last) >= MIN_HEAD_CHARS and last not in STOP_WORDS else None


def final_phrases(rewrite_phrases: Sequence[str]) -> tuple[Phrase, ...]:
    """The phrases in the order of the request, then their heads; of equal ones the first. Blank ones are dropped."""
    distinct: dict[str, Phrase] = {}
    for phrase in (*_given(rewrite_phrases), *_heads(rewrite_phrases)):
        distinct.setdefault(phrase.normalized, phrase)
    return tuple(distinct.values())


def _given(rewrite_phrases: Iterable[str]) -> Iterator[Phrase]:
    for phrase in rewrite_phrases:
        if normalized := normalise(phrase):
            yield Phrase(phrase=phrase, normalized=normalized, lookup=lookup_of(phrase))


def _heads(rewrite_phrases: Iterable[str]) -> Iterator[Phrase]:
    for phrase in rewrite_phrases:
        if head := head_of(normalise(phrase)):
            yield Phrase(phrase=head, normalized=head, lookup=head, is_head=True)
