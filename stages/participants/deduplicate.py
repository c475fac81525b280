"""References that repeat a better one: windows of a transcript overlap, so neighbours share most lines."""

from collections.abc import Callable, Mapping

from schemas.values.participants import Reference
from stages.participants.chunk_texts import text_of

Repeats = Callable[[Reference, Reference], bool]
"""Whether two references are too similar to show both."""

MAX_SHARED = 0.5
"""The share of lines that two references may have in common; neighbours share 6 of 8."""


def by_place(*, size: int, step: int, max_shared: float = MAX_SHARED) -> Repeats:
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
        return better.participant_id == reference.participant_id and shared > max_shared * size

    return repeats


def by_lines(chunk_texts: Mapping[int, str], *, max_shared: float = MAX_SHARED) -> Repeats:
    """Repetition by text, also across participants: the share of distinct lines that are in the other reference too.

    The share is of the reference with fewer lines. Texts are by chunk id; white space around lines and blank lines do
    not count. Raises InputChangedError when a text differs from the one that was retrieved.
    """

    def repeats(better: Reference, reference: Reference) -> bool:
        first, second = (_lines(text_of(one, chunk_texts)) for one in (better, reference))
        return len(first & second) > max_shared * min(len(first), len(second))

    return repeats


def _lines(text: str) -> set[str]:
    return {line.strip() for line in text.split("\n")} - {""}
