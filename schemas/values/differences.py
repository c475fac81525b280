"""Differences between two scored runs."""

from enum import StrEnum
from typing import Any

from schemas.values.base import Value
from schemas.values.environments import RunOrigin
from schemas.values.metrics import PairedDelta
from schemas.values.phq8 import AssessmentMode, PHQ8Item


class FlipKind(StrEnum):
    """How an item's score changed."""

    LOST = "lost"
    """Scored on the left, N/A on the right."""
    GAINED = "gained"
    """N/A on the left, scored on the right."""
    CHANGED = "changed"
    """Another score."""


class Flip(Value):
    """An item with different scores on the two sides."""

    participant_id: int
    item: PHQ8Item
    kind: FlipKind
    left: int | None
    right: int | None
    truth: int | None
    error_change: int | None
    """|right - truth| - |left - truth|: negative is nearer the truth; None without a score or the truth."""


class Side(Value):
    """One side of the comparison."""

    run_id: str
    mode: AssessmentMode
    participants: int
    notices: tuple[str, ...] = ()
    """Caveats about its results."""
    origin: RunOrigin = RunOrigin()
    """Versions, commits, hardware, models and servers."""


class SettingDifference(Value):
    """A setting with another value; None on a side that does not have it."""

    left: Any
    right: Any


class Difference(Value):
    """Right compared with left: deltas right - left, over participants that both scored and whose truth is known."""

    left: Side
    right: Side
    common_participants: int
    """Scored on both sides, with or without ground truth."""
    confidence: str
    deltas: dict[str, PairedDelta]
    flips: tuple[Flip, ...]
    """By participant, items in their order."""
    flip_counts: dict[FlipKind, int]
    settings: dict[str, SettingDifference]
    failed_in_left_only: tuple[int, ...]
    """Participants that the right side scored."""
    failed_in_right_only: tuple[int, ...]
    only_in_left: tuple[int, ...]
    """Participants that are not in the right run."""
    only_in_right: tuple[int, ...]
