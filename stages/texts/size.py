"""How long a text is."""

from typing import Final, NamedTuple

#: English text has about four characters to a token; other languages and code have fewer.
CHARS_PER_TOKEN: Final = 4


class TextSize(NamedTuple):
    """A text in numbers."""

    characters: int
    words: int
    """What stands between blanks."""
    tokens: int
    """An estimate from the characters: models cut texts up differently."""


def text_size(text: str) -> TextSize:
    """The size of a text.

    >>> text_size("Why is tea dark?")
    TextSize(characters=16, words=4, tokens=4)
    """
    return TextSize(len(text), len(text.split()), -(-len(text) // CHARS_PER_TOKEN))
