"""Sentences packed into overlapping chunks."""

from collections.abc import Sequence
from dataclasses import dataclass

from stages.corpora.sentences import Sentence


@dataclass(frozen=True)
class ChunkSize:
    """The length of chunks, in words, and the number of sentences that neighbours share."""

    target: int = 200
    """A chunk with this many words is full."""
    most: int = 300
    least: int = 50
    """A last chunk with fewer new words is merged into the chunk before it, if it fits."""
    overlap: int = 3
    """Sentences at the end of a chunk that the next one repeats, if they fit."""


def pack(sentences: Sequence[Sentence], size: ChunkSize) -> list[tuple[Sentence, ...]]:
    """The chunks of one section in order. No chunk has more than `size.most` words if no sentence has.

    Every sentence is new in exactly one chunk, and each chunk has at least one new sentence. Without sentences there
    are no chunks.
    """
    chunks: list[_Chunk] = []
    for sentence in sentences:
        if not chunks or chunks[-1].words >= size.target or chunks[-1].words + sentence.words > size.most:
            chunks.append(_Chunk(_shared(chunks[-1], sentence, size) if chunks else [], []))
        chunks[-1].new.append(sentence)
    if len(chunks) > 1 and (left := _words(chunks[-1].new)) < size.least and chunks[-2].words + left <= size.most:
        last = chunks.pop()
        chunks[-1].new.extend(last.new)
    return [(*chunk.shared, *chunk.new) for chunk in chunks]


@dataclass
class _Chunk:
    shared: list[Sentence]
    """Repeated from the chunk before it."""
    new: list[Sentence]

    @property
    def words(self) -> int:
        return _words(self.shared) + _words(self.new)


def _shared(before: _Chunk, first: Sentence, size: ChunkSize) -> list[Sentence]:
    """The end of a chunk that the next one repeats: never all of it, and only as much as fits."""
    shared = [*before.shared, *before.new][1:][-size.overlap :] if size.overlap else []
    while shared and _words(shared) + first.words > size.target:
        shared = shared[1:]
    return shared


def _words(sentences: Sequence[Sentence]) -> int:
    return sum(sentence.words for sentence in sentences)
