"""Characters of texts: those that nobody sees, those that Postgres stores, and how many there are."""

import re
from typing import Final, NamedTuple

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

_STRAIGHT = dict.fromkeys(map(ord, "‘’‛ʼ＇"), "'")


def straight_apostrophes(text: str) -> str:
    """The text with straight apostrophes, for embedding alone.

    >>> straight_apostrophes("I can’t")
    "I can't"
    """
    return text.translate(_STRAIGHT)


_ZERO_WIDTH = dict.fromkeys([0x00AD, 0x180E, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF])


def without_zero_width(text: str) -> str:
    """The text without soft hyphens, zero-width spaces and joiners, marks of direction, and byte order marks.

    >>> without_zero_width("PHQ8_\\u200bSleep\\ufeff")
    'PHQ8_Sleep'
    """
    return text.translate(_ZERO_WIDTH)


def can_be_stored(text: str) -> bool:
    """Whether the text is free of NUL characters and of halves of surrogate pairs, which JSON escapes can contain.

    >>> [can_be_stored(text) for text in ("up at three", "up at \\0 three", "\\ud83d")]
    [True, False, False]
    """
    return not any(char == "\x00" or "\ud800" <= char <= "\udfff" for char in text)


def storable(text: str) -> str:
    """The text without NUL characters, and with `?` for each half of a surrogate pair.

    >>> storable("cut \\0here \\ud83d")
    'cut here ?'
    """
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def _checked(text: str) -> str:
    if not can_be_stored(text):
        raise PydanticCustomError("cannot_be_stored", "Text has a NUL character or half of a surrogate pair")
    return text


Storable = AfterValidator(_checked)
"""Has pydantic refuse text of which `can_be_stored` is not true."""


#: English text has about four characters to a token; other languages and code have fewer.
CHARS_PER_TOKEN: Final = 4


class TextSize(NamedTuple):
    """The size of a text."""

    characters: int
    words: int
    """Separated by white space."""
    tokens: int
    """An estimate from the characters: tokenizers differ by model."""


def text_size(text: str) -> TextSize:
    """The size of a text.

    >>> text_size("Why is tea dark?")
    TextSize(characters=16, words=4, tokens=4)
    """
    return TextSize(len(text), len(text.split()), -(-len(text) // CHARS_PER_TOKEN))


_UTF8_SEQUENCE: Final = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_MOST_ACCENTED: Final = 0.3
"""Of the letters of a text in Latin-1. Cyrillic and Greek in one byte a letter have nearly all of them above 127."""


class DecodedText(NamedTuple):
    """What a file says."""

    text: str
    is_latin1: bool
    """It is not UTF-8 and was read as Latin-1, in the form of Windows, which adds quotes and dashes."""


def decoded(content: bytes) -> DecodedText:
    """The text of a file: UTF-8 with or without a byte order mark, else Latin-1 where it looks like that.

    Raises UnicodeDecodeError for anything else, such as UTF-8 that is damaged or cut off, or another alphabet.

    >>> decoded(b"Gr\\xfcner Tee"), decoded("Grüner Tee".encode()).is_latin1
    (DecodedText(text='Grüner Tee', is_latin1=True), False)
    """
    try:
        return DecodedText(content.decode("utf-8-sig"), False)
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" or _UTF8_SEQUENCE.search(content):
            raise
        not_utf8 = error
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        raise not_utf8 from None
    letters = sum(map(str.isalpha, text))
    accented = sum(char > "\x7f" for char in text)
    if _CONTROL.search(text) or accented > _MOST_ACCENTED * letters:
        raise not_utf8 from None
    return DecodedText(text, True)
