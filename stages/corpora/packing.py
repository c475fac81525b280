"""Sentences packed into overlapping chunks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stages.corpora.sentences import Sentence


@dataclass(frozen=True)
class ChunkSize:
    """The length of chunks, in words or tokens, and what neighbours share. The defaults are words."""

    target: int = 200
    """A chunk of this length is full."""
    most: int = 300
    least: int = 50
    """A last chunk with less new text is merged into the chunk before it, if it fits."""
    overlap: int = 3
    """Sentences at the end of a chunk that the next one repeats, if they fit."""
    shared: int | None = None
    """The greatest length of these sentences; None allows what fits."""

    @classmethod
    def of_tokens(cls, most: int) -> "ChunkSize":
        """Chunks filled up to this number of tokens."""
        return cls(target=most, most=most, least=most // 4, shared=most // 4)

    def without(self, around: int) -> "ChunkSize":
        """The size that is left for content; never less than half."""
        if not around:
            return self
        most = max(self.most - around, self.most // 2, 1)
        return replace(self, target=min(self.target, most), most=most)


def pack(sentences: Sequence[Sentence], size: ChunkSize) -> list[tuple[Sentence, ...]]:
    """The chunks of one section in order. No chunk is longer than `size.most` if no sentence is.

    Every sentence is new in exactly one chunk, and each chunk has at least one new sentence. Without sentences there
    are no chunks.
    """
    chunks: list[_Chunk] = []
    for sentence in sentences:
        if not chunks or chunks[-1].length >= size.target or chunks[-1].length + sentence.length > size.most:
            chunks.append(_Chunk(_shared(chunks[-1], sentence, size) if chunks else []))
        chunks[-1].add(sentence)
    if len(chunks) > 1 and (left := _length(chunks[-1].new)) < size.least and chunks[-2].length + left <= size.most:
        last = chunks.pop()
        chunks[-1].new.extend(last.new)
    return [(*chunk.shared, *chunk.new) for chunk in chunks]


class _Chunk:
    def __init__(self, shared: list[Sentence]) -> None:
        self.shared = shared
        """Repeated from the chunk before it."""
        self.new: list[Sentence] = []
        self.length = _length(shared)

    def add(self, sentence: Sentence) -> None:
        self.new.append(sentence)
        self.length += sentence.length


def _shared(before: _Chunk, first: Sentence, size: ChunkSize) -> list[Sentence]:
    """The end of a chunk that the next one repeats: never all of it, and only as much as fits."""
    shared = [*before.shared, *before.new][1:][-size.overlap :] if size.overlap else []
    fits = size.target - first.length if size.shared is None else min(size.shared, size.target - first.length)
    while shared and _length(shared) > fits:
        shared = shared[1:]
    return shared


def _length(sentences: Sequence[Sentence]) -> int:
    return sum(sentence.length for sentence in sentences)
