"""The phrases of a request, normalised for lookup."""

from collections.abc import Sequence
from typing import Final

from pydantic import TypeAdapter

from schemas.values.tags import Phrase, Phrases, PhraseSet
from stages.records import Parsed, numbered_lines, parse_records

STOP_WORDS = frozenset(
    word
    for line in (
        "a about above across after against along also among an and any are around as at be because been before",
        "behind below beneath beside between both but by can could did do does down during each either few for from",
        "had has have he her here hers him his how i if in into is it its just like many may me more most much my",
        "near neither no nor not of off on onto or other others our out over own she should since so some such than",
        "that the their them then there these they this those through to too toward towards under until up upon us",
        "very was we were what when where which while who whom whose why will with within without would you your",
    )
    for word in line.split()
)


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
    given = [
        Phrase(phrase=phrase, normalized=normalized, lookup=lookup_of(phrase))
        for phrase in rewrite_phrases
        if (normalized := normalise(phrase))
    ]
    heads = [head for phrase in given if (head := head_of(phrase.normalized))]
    distinct: dict[str, Phrase] = {}
    for phrase in (*given, *(Phrase(phrase=head, normalized=head, lookup=head, is_head=True) for head in heads)):
        distinct.setdefault(phrase.normalized, phrase)
    return tuple(distinct.values())


_WHAT_TO_DO: Final = (
    'write phrases separated by commas, ["...", "..."], or {"id": "...", "phrases": [...], "context_tags": [...]}'
)

_LIST: Final = TypeAdapter(Phrases)


def parse_phrase_sets(data: bytes, *, file: str, context_tags: tuple[str, ...] = ()) -> Parsed[tuple[PhraseSet, ...]]:
    r"""Read a phrase set from each line that is not blank. Each set gets these context tags after its own.

    A line is a JSON list of phrases, a JSON object with `phrases` and optionally `id` and `context_tags`, or phrases
    separated by commas. A set without an id gets its number, from 1. Problems name the line, never its
    content.

    >>> [one.phrases for one in parse_phrase_sets(b'big shirt, hat\n["red coat"]\n', file="p").value]
    [('big shirt', 'hat'), ('red coat',)]
    """

    def read(placed: tuple[int, str]) -> PhraseSet:
        number, text = placed
        match text.lstrip()[0]:
            case "{":
                given = PhraseSet.model_validate_json(text)
            case "[":
                given = PhraseSet(phrases=_LIST.validate_json(text))
            case _:
                given = PhraseSet(phrases=_LIST.validate_python([phrase.strip() for phrase in text.split(",")]))
        return given.numbered(number, context_tags)

    lines, problems = numbered_lines(data, file=file, what_to_do=_WHAT_TO_DO)
    placed = ((line, (number, text)) for number, (line, text) in enumerate(lines, start=1))
    return parse_records(read, Parsed(placed, problems), file=file, what_to_do=_WHAT_TO_DO)
