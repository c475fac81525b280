"""The reference index in memory: what pgvector does, in numpy."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from schemas.values.participants import PHQ8Item, Reference
from stages.ports import ScoreSource
from stages.texts.characters import short_hash
from stages.vectors import similarities
from store.references.references import index_missing


@dataclass(frozen=True)
class IndexedChunk:
    """One chunk of an index; `vector` has length 1."""

    chunk_id: int
    participant_id: int
    ordinal: int
    text: str
    vector: NDArray[np.float32]
    scores: dict[PHQ8Item, int] = field(default_factory=dict)
    """Of the participant."""
    own_scores: dict[PHQ8Item, int] = field(default_factory=dict)
    """Of the chunk itself."""
    tags: tuple[PHQ8Item, ...] = ()


@dataclass
class InMemoryReferenceSearch:
    """A ReferenceSearch over chunks by index id. `round_trips` counts the calls."""

    indexes: dict[int, list[IndexedChunk]]
    round_trips: int = 0

    async def nearest(
        self,
        index_id: int,
        queries: Sequence[tuple[PHQ8Item, NDArray[np.float32]]],
        *,
        limit: int,
        exclude_participants: Collection[int],
        tagged_only: bool,
        score_source: ScoreSource,
    ) -> list[tuple[Reference, ...]]:
        self.round_trips += 1
        if index_id not in self.indexes:
            raise index_missing(index_id)
        others = [chunk for chunk in self.indexes[index_id] if chunk.participant_id not in exclude_participants]
        found = []
        for item, query in queries:
            chunks = [chunk for chunk in others if not tagged_only or item in chunk.tags]
            found.append(_ranked(chunks, item, query, score_source)[:limit])
        return found

    async def count_untagged(
        self, index_id: int, items: Sequence[PHQ8Item], *, exclude_participants: Collection[int]
    ) -> list[int]:
        self.round_trips += 1
        others = [chunk for chunk in self.indexes[index_id] if chunk.participant_id not in exclude_participants]
        return [sum(item not in chunk.tags for chunk in others) for item in items]


def _ranked(
    chunks: list[IndexedChunk], item: PHQ8Item, query: NDArray[np.float32], score_source: ScoreSource
) -> tuple[Reference, ...]:
    near = similarities(np.stack([chunk.vector for chunk in chunks]), query) if chunks else ()
    references = [
        Reference(
            chunk_id=chunk.chunk_id,
            participant_id=chunk.participant_id,
            ordinal=chunk.ordinal,
            similarity=float(similarity),
            score=(chunk.own_scores if score_source == "chunk" else chunk.scores).get(item),
            chunk_hash=short_hash(chunk.text),
            chunk_chars=len(chunk.text),
        )
        for chunk, similarity in zip(chunks, near, strict=True)
    ]
    return tuple(sorted(references, key=lambda ref: (-ref.similarity, ref.participant_id, ref.ordinal)))
