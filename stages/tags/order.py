"""The order of tags."""

from typing import Protocol


class Scored(Protocol):
    """A tag with a score."""

    @property
    def tag(self) -> str: ...
    @property
    def score_combined(self) -> float: ...
    @property
    def count(self) -> int | None: ...


def best_first(candidate: Scored) -> tuple[float, int, str]:
    """A sort key: combined score down, count down, tag up; a missing count is 0."""
    return -candidate.score_combined, -(candidate.count or 0), candidate.tag
