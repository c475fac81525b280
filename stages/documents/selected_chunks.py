"""The chunks of a document, those of skipped sections without a vector."""

from collections.abc import Sequence
from typing import NamedTuple

from schemas.statuses import VectorStatus
from schemas.values.corpora import CutChunk
from schemas.values.documents import Selection


class SelectedChunks(NamedTuple):
    """Chunks, in their order."""

    chunks: list[CutChunk]
    skipped: int
    """Those that would have been embedded."""


def selected_chunks(chunks: Sequence[CutChunk], selections: Sequence[Selection]) -> SelectedChunks:
    """The chunks of all sections; of those that are not selected, none waits for a vector."""
    skipped_lines = {selection.line for selection in selections if not selection.embeds}
    kept: list[CutChunk] = []
    skipped = 0
    for chunk in chunks:
        section = chunk if chunk.parent is None else chunks[chunk.parent]
        if chunk.vector_status is VectorStatus.TO_VEC and section.start_line in skipped_lines:
            chunk = chunk.model_copy(update={"vector_status": VectorStatus.NO_VEC})
            skipped += 1
        kept.append(chunk)
    return SelectedChunks(kept, skipped)
