"""Which tag comes first."""

from typing import Protocol


class Scored(Protocol):
    """What is ordered."""

    @property
    def tag(self) -> str: ...
    @property
    def score_combined(self) -> float: ...
    @property
    def count(self) -> int | None: ...


def best_first(candidate: Scored) -> tuple[float, int, str]:
    """A sort key: combined score down, then count down, then by tag; a tag that nobody counted was used 0 times."""
    return -candidate.score_combined, -(candidate.count or 0), candidate.tag
