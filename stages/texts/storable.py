"""Text that Postgres can store."""


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
