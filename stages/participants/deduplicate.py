"""References that repeat a better one: windows of a transcript overlap, so neighbours share most lines."""

from collections.abc import Callable

from schemas.values.participants import Reference

Repeats = Callable[[Reference, Reference], bool]
"""Whether two references are too similar to show both."""

MAX_SHARED = 0.5
"""The share of lines that two references may have in common; neighbours share 6 of 8."""


def by_place(*, size: int, step: int) -> Repeats:
    """Repetition by position alone: windows of `size` lines, each `step` lines after the one before, in one transcript.

    The last window of a transcript may share a few more lines with its neighbour than counted here.

    >>> first = Reference(
    ...     chunk_id=1, participant_id=302, ordinal=5, similarity=1.0, score=2, chunk_hash="", chunk_chars=0
    ... )
    >>> [by_place(size=8, step=2)(first, first.model_copy(update={"ordinal": at})) for at in (4, 6, 7, 8)]
    [True, True, False, False]
    """

    def repeats(better: Reference, reference: Reference) -> bool:
        shared = size - step * abs(better.ordinal - reference.ordinal)
        return better.participant_id == reference.participant_id and shared > MAX_SHARED * size

    return repeats
