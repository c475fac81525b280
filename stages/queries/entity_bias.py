"""A bonus for passages that name the entities of the query."""

from collections.abc import Iterable


def entity_boost(entities: Iterable[str], text: str, *, boost: float) -> float:
    """`boost` times the number of distinct entities that occur in the text, ignoring case. Blank ones do not count.

    >>> entity_boost(["Black Tea", "oolong", "enzyme", " "], "Enzymes darken black tea.", boost=0.05)
    0.1
    """
    lowered = text.lower()
    names = {entity.strip().lower() for entity in entities} - {""}
    return boost * sum(name in lowered for name in names)
