"""Bytes of a file of text as its characters."""

import re
from typing import Final, NamedTuple

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
