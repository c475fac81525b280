"""The search over chunks in memory: exact cosines, and full text over unstemmed words."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from schemas.errors import EmbeddingDimensionMismatchError
from schemas.values.queries import Hit
from stages.ports import Vectors
from store.corpora.corpora import corpus_missing
from tests.store.small_corpora import SearchableChunk

K1, B = 0.9, 0.4


@dataclass
class InMemoryChunkSearch:
    """A ChunkSearch over chunks by corpus id. `round_trips` counts the calls that had to look."""

    corpora: dict[int, list[SearchableChunk]]
    round_trips: int = 0

    async def dense(
        self, corpora: Sequence[int], vectors: Vectors, *, limit: int, among: Sequence[int] | None = None
    ) -> list[list[Hit]]:
        if not len(vectors) or not limit:
            return [[] for _ in vectors]
        chunks = self._chunks(corpora)
        if not chunks:
            return [[] for _ in vectors]
        rows = np.stack([chunk.vector for chunk in chunks]).astype(np.float64)
        if vectors.shape[1] != rows.shape[1]:
            raise EmbeddingDimensionMismatchError(expected=rows.shape[1], actual=vectors.shape[1])
        lengths = np.linalg.norm(rows, axis=1)
        cosines = [rows @ vector / (lengths * np.linalg.norm(vector)) for vector in vectors.astype(np.float64)]
        return [_ranked({chunk.id: row[n] for n, chunk in enumerate(chunks)}, limit, among) for row in cosines]

    async def lexical(
        self,
        corpora: Sequence[int],
        texts: Sequence[str],
        *,
        limit: int,
        scorer: str,
        among: Sequence[int] | None = None,
    ) -> list[list[Hit]]:
        score = {"bm25": _bm25, "websearch": _all_terms}.get(scorer)
        if score is None:
            raise ValueError(f"{scorer!r} is not a full-text scorer.")
        if not texts or not limit:
            return [[] for _ in texts]
        words = {
            chunk.id: _words(f"{chunk.heading_breadcrumbs or ''} {chunk.content}") for chunk in self._chunks(corpora)
        }
        return [_ranked(score(words, _words(text)), limit, among) for text in texts]

    async def lexical_scores(
        self, corpora: Sequence[int], text: str, chunk_ids: Sequence[int], *, scorer: str
    ) -> dict[int, float]:
        if not chunk_ids:
            return {}
        (hits,) = await self.lexical(corpora, [text], limit=len(chunk_ids), scorer=scorer, among=chunk_ids)
        return {hit.chunk_id: hit.score for hit in hits}

    def _chunks(self, corpora: Sequence[int]) -> list[SearchableChunk]:
        self.round_trips += 1
        for corpus_id in corpora:
            if corpus_id not in self.corpora:
                raise corpus_missing(corpus_id)
        return [chunk for corpus_id in corpora for chunk in self.corpora[corpus_id]]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _ranked(scores: dict[int, float], limit: int, among: Sequence[int] | None) -> list[Hit]:
    left = {id_: score for id_, score in scores.items() if among is None or id_ in among}
    best = sorted(left.items(), key=lambda found: (-found[1], found[0]))
    return [Hit(chunk_id=chunk_id, score=float(score)) for chunk_id, score in best[:limit]]


def _bm25(chunks: dict[int, list[str]], asked: list[str]) -> dict[int, float]:
    mean = sum(map(len, chunks.values())) / max(len(chunks), 1)
    holding = {term: sum(term in words for words in chunks.values()) for term in asked}
    scores: dict[int, float] = {}
    for chunk_id, words in chunks.items():
        counts = Counter(words)
        for term in asked:
            if frequency := counts[term]:
                idf = log(1 + (len(chunks) - holding[term] + 0.5) / (holding[term] + 0.5))
                weight = idf * frequency / (frequency + K1 * (1 - B + B * len(words) / mean))
                scores[chunk_id] = scores.get(chunk_id, 0.0) + weight
    return scores


def _all_terms(chunks: dict[int, list[str]], asked: list[str]) -> dict[int, float]:
    matching = {chunk_id: words for chunk_id, words in chunks.items() if asked and set(asked) <= set(words)}
    return {chunk_id: sum(word in asked for word in words) / 10 for chunk_id, words in matching.items()}
