"""The intent of a query, as people and models write it."""

from schemas.values.queries import Intent


def intent_of(text: str) -> str | None:
    """One of `Intent`, in any case of letters; any other text as it is, on one line; None for a blank one.

    >>> intent_of(" mechanism"), intent_of("buy a teapot"), intent_of(" ")
    ('MECHANISM', 'buy a teapot', None)
    """
    words = " ".join(text.split())
    return words.upper() if words.upper() in set(Intent) else words or None
