"""The length of a text."""

from typing import Final, NamedTuple

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
