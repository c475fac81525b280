"""The chunks of a reference index, with their vectors."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from schemas.values.phq8 import PHQ8Item


@dataclass(frozen=True, kw_only=True, eq=False)
class ParticipantChunks:
    """The chunks of one participant, in order: every field has an entry or a row per chunk."""

    participant_id: int
    texts: tuple[str, ...] = field(repr=False)
    vectors: NDArray[np.float32] = field(repr=False)
    """One row of length 1 per chunk."""
    tags: tuple[tuple[PHQ8Item, ...], ...] | None = None
    """None for an index without tags."""
    scores: tuple[dict[PHQ8Item, int | None], ...] | None = None
    """All eight items per chunk, 0..3 or None; None for an index without chunk scores."""
