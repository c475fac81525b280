"""Replies that give headings of a document a line each: `line : WORD : text`."""

from collections.abc import Collection
from typing import Final, NamedTuple

from schemas.errors import HeadingReplyError
from stages.corpora.lines import lines_of
from stages.texts.fence import DATA_RULE
from stages.texts.listed import listed

MOST_CHARS: Final = 4_000_000
"""Of a reply."""
SYSTEM: Final = (
    f"You prepare documents for a search engine. You answer with lines of one form and with nothing else. {DATA_RULE}"
)
"""The system message of every call that asks for such a reply."""
_LONGEST_NUMBER: Final = 9
_FENCE: Final = "```"


class HeadingLine(NamedTuple):
    """A line of a reply."""

    word: str
    text: str
    """What follows the second colon; empty where nothing does."""


def heading_lines(raw: str, *, words: Collection[str], headings: Collection[int]) -> dict[int, HeadingLine]:
    """The lines of a reply, by the lines of the headings. Empty lines and code fences are left out.

    Raises HeadingReplyError, without any text of the reply, for a line of another form, for a line of the document
    that is not among `headings`, and for one that occurs twice.

    >>> heading_lines("12 : H2 : Leaves: green and black", words=("H2",), headings=(12,))
    {12: HeadingLine(word='H2', text='Leaves: green and black')}
    """
    if len(raw) > MOST_CHARS:
        raise HeadingReplyError(raw, f"it has {len(raw)} characters; {MOST_CHARS} are read at most")
    found: dict[int, HeadingLine] = {}
    malformed, unknown, repeated = list[int](), list[int](), list[int]()
    for place, line in enumerate(lines_of(raw), start=1):
        if not line.strip() or line.lstrip().startswith(_FENCE):
            continue
        number, _, rest = line.partition(":")
        word, _, text = rest.partition(":")
        named = _number(number.strip())
        if named is None or word.strip() not in words:
            malformed.append(place)
        elif named not in headings:
            unknown.append(named)
        elif named in found:
            repeated.append(named)
        else:
            found[named] = HeadingLine(word.strip(), " ".join(text.split()))
    problems = [
        (malformed, f"its lines {{}} have not the form NUMBER : {'|'.join(words)} : TEXT"),
        (unknown, "it names lines that are no heading: {}"),
        (repeated, "it names lines twice: {}"),
    ]
    wrong = [problem.format(listed(places)) for places, problem in problems if places]
    if wrong:
        raise HeadingReplyError(raw, "; ".join(wrong))
    return found


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER else None
