"""Whether quotes occur in the transcript (Spec 053)."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from pydantic import Field
from rapidfuzz import fuzz

from schemas.errors import EvidenceGroundingError
from schemas.values.base import Value
from schemas.values.phq8 import PHQ8Item

GroundingMode = Literal["substring", "fuzzy"]

_ASCII_QUOTES = str.maketrans(dict.fromkeys("“”„‟", '"') | dict.fromkeys("‘’‚‛", "'") | {"\u00a0": " "})
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\ufeff"))
_TAG = re.compile(r"<[^<>\n]*>")


class GroundingCheck(Value):
    """How quotes are compared with the transcript."""

    enabled: bool
    mode: GroundingMode
    """`fuzzy` also accepts quotes that nearly match."""
    fuzzy_threshold: float = Field(ge=0.5, le=1.0)
    """The least ratio of the best partial match at which `fuzzy` accepts a quote."""
    fail_on_all_rejected: bool
    """Raise EvidenceGroundingError when there were quotes and none is grounded; otherwise continue without evidence."""


class GroundedQuotes(NamedTuple):
    """The quotes that occur in the transcript, and the number per item that do not; items without any are absent."""

    quotes: dict[PHQ8Item, tuple[str, ...]]
    rejected: dict[PHQ8Item, int]


def keep_grounded(quotes: Mapping[PHQ8Item, Iterable[str]], transcript: str, check: GroundingCheck) -> GroundedQuotes:
    """Keep the quotes that occur in the transcript, in their order; with the check disabled, all of them.

    Raises EvidenceGroundingError as configured by the check.
    """
    given = {item: tuple(texts) for item, texts in quotes.items()}
    if not check.enabled:
        return GroundedQuotes(given, {})
    source = normalise(transcript)
    kept = {item: tuple(quote for quote in texts if _occurs_in(source, quote, check)) for item, texts in given.items()}
    rejected = {item: missing for item, texts in given.items() if (missing := len(texts) - len(kept[item]))}
    if check.fail_on_all_rejected and rejected and not any(kept.values()):
        raise EvidenceGroundingError(sum(rejected.values()))
    return GroundedQuotes(kept, rejected)


def normalise(text: str) -> str:
    """The text without differences that models introduce: case, white space, typographic quotes, `<...>` tags.

    A tag ends on its line, so that a single `<` does not remove the rest of the transcript.

    >>> normalise("I’m <laughter> FINE,\\n really")
    "i'm fine, really"
    """
    plain = unicodedata.normalize("NFKC", text).translate(_ASCII_QUOTES).translate(_INVISIBLE)
    return " ".join(_TAG.sub(" ", plain).split()).lower()


def _occurs_in(source: str, quote: str, check: GroundingCheck) -> bool:
    wanted = normalise(quote)
    if not wanted or wanted in source:
        return bool(wanted)
    # A partial match compares the shorter text with parts of the longer one, so the quote must be the shorter.
    is_near = check.mode == "fuzzy" and len(wanted) <= len(source)
    return is_near and fuzz.partial_ratio(wanted, source) / 100 >= check.fuzzy_threshold
