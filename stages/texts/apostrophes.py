"""Typographic apostrophes, which an embedder reads as other words than straight ones."""

_STRAIGHT = dict.fromkeys(map(ord, "‘’‛ʼ＇"), "'")


def straight_apostrophes(text: str) -> str:
    """The text with straight apostrophes, for embedding alone.

    >>> straight_apostrophes("I can’t")
    "I can't"
    """
    return text.translate(_STRAIGHT)
