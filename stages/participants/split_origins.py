"""How splits were made, in words."""

from collections.abc import Iterable

from schemas.values.stored_splits import SplitMethod, SplitOrigin


def origin_words(origin: SplitOrigin | None) -> str:
    """How a split was made.

    >>> origin_words(SplitOrigin(method=SplitMethod.STRATIFIED, seed=7))
    "the paper's rule, seed 7"
    """
    if origin is None:
        return "not recorded"
    words = {
        SplitMethod.FILE: "its file",
        SplitMethod.PUBLISHED: "published ids",
        SplitMethod.STRATIFIED: f"the paper's rule, seed {origin.seed}",
        SplitMethod.LISTED: f"listed in {origin.file}",
    }
    left_out = f", without {participants_in_words(origin.missing)}" if origin.missing else ""
    return words[origin.method] + left_out


def participants_in_words(ids: Iterable[int]) -> str:
    """Participants, ascending."""
    return f"participant {', '.join(map(str, sorted(ids)))}"
