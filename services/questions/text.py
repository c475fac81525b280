"""Which texts a query and its expansion accept."""

from collections.abc import Sequence
from typing import Final

from schemas.errors import QueryValueError
from stages.queries.query_file import MAX_CHARS
from stages.texts.storable import can_be_stored

#: A hypothetical answer (HyDE) is a paragraph.
MAX_ANSWER_CHARS: Final = 10_000
MAX_INTENT_CHARS: Final = 50
#: A search phrase, or an entity.
MAX_PHRASE_CHARS: Final = 500
MAX_PHRASES: Final = 50


def query_text(text: str) -> str:
    """The text of a query without blanks around it. Raises QueryValueError for an empty one and one too long."""
    return filled("original_query", text, MAX_CHARS)


def phrases(field: str, texts: Sequence[str]) -> tuple[str, ...]:
    """Search phrases or entities without blanks around them; blank ones are left out.

    Raises QueryValueError for one that cannot be used.
    """
    if len(texts) > MAX_PHRASES:
        raise QueryValueError(field, f"has {len(texts)} entries; at most {MAX_PHRASES} are allowed")
    cleaned = (plain(f"{field}, entry {place}", text, MAX_PHRASE_CHARS) for place, text in enumerate(texts, start=1))
    return tuple(text for text in cleaned if text)


def filled(field: str, text: str, longest: int) -> str:
    """A text of 1 to `longest` characters, without blanks around it. Raises QueryValueError."""
    text = plain(field, text, longest)
    if not text:
        raise QueryValueError(field, "is blank; write something")
    return text


def plain(field: str, text: str, longest: int) -> str:
    """A text of at most `longest` characters, without blanks around it. Raises QueryValueError."""
    text = text.strip()
    if len(text) > longest:
        raise QueryValueError(field, f"has {len(text)} characters; at most {longest} are allowed")
    if not can_be_stored(text):
        raise QueryValueError(field, "holds characters that cannot be stored: NUL, or half of a surrogate pair")
    return text
