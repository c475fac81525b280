"""Characters without width, which a reader of a text does not see."""

_ZERO_WIDTH = dict.fromkeys([0x00AD, 0x180E, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF])


def without_zero_width(text: str) -> str:
    """The text without soft hyphens, zero-width spaces and joiners, marks of direction, and byte order marks.

    >>> without_zero_width("PHQ8_\\u200bSleep\\ufeff")
    'PHQ8_Sleep'
    """
    return text.translate(_ZERO_WIDTH)
