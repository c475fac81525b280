"""Stage `rerank`: the fused chunks filtered, enriched, scored by a ranker, biased, and selected for diversity."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from schemas.errors import NothingRelevantError, WorkChangedError
from schemas.settings.preset import RetrievalPreset
from schemas.values.documents import CorpusChunk
from schemas.values.queries import Expansion, FusedHit, RerankedChunk, RerankedChunks, RetrievedChunks
from stages.corpora.cut import pages_of
from stages.corpora.works import WorkText
from stages.queries.ranking import (
    Ranker,
    chunks_gone,
    drop_short,
    dropped_in_words,
    enriched_content,
    entity_boost,
    intent_boost,
    passage_similarity,
    select_diverse,
)


async def rerank_chunks(
    query: str,
    expansion: Expansion,
    retrieved: RetrievedChunks,
    *,
    chunks: Mapping[int, CorpusChunk],
    works: Mapping[int, WorkText],
    vectors: Mapping[int, NDArray[np.float32]],
    ranker: Ranker,
    preset: RetrievalPreset,
    allow_empty: bool,
) -> RerankedChunks:
    """The selected chunks in the order of their selection, each with all its scores.

    Chunks and their vectors are by chunk id, works by work id. Chunks are scored in their enriched form against the
    original query; bonuses are added to the ranker's score; equal scores keep the order of fusion. Raises
    DomainError and WorkChangedError for chunks and works that are no longer stored, and the ranker's errors
    unchanged. If nothing was retrieved, or the filters drop all, there are no chunks with `allow_empty`, otherwise
    NothingRelevantError is raised.
    """
    hits = {hit.chunk_id: hit for hit in retrieved.fused}
    _refuse_gone(hits, chunks, works)
    long_enough, dropped, kept_short = drop_short((chunks[id_] for id_ in hits), preset)
    if not long_enough and not allow_empty:
        raise _nothing_left(dropped, preset)
    candidates = [_candidate(chunk, hits[chunk.id], expansion, works[chunk.work_id], preset) for chunk in long_enough]
    by, scores = await ranker(query, candidates)
    scored = [_scored(candidate, score) for candidate, score in zip(candidates, scores, strict=True)]
    ranked = sorted(scored, key=lambda chunk: -chunk.final_score)
    ids = [chunk.chunk_id for chunk in ranked]
    selected = select_diverse(
        [chunk.final_score for chunk in ranked],
        passage_similarity(ids, [chunk.enriched_content for chunk in ranked], vectors),
        count=preset.top_n_final,
        mmr_lambda=preset.mmr_lambda,
    )
    return RerankedChunks(
        ranker=by,
        chunks=tuple(ranked[place] for place in selected),
        ranking=tuple(ids),
        dropped=dropped,
        kept_short=kept_short,
        work_hashes={chunk.work_id: works[chunk.work_id].content_hash for chunk in ranked},
    )


def _nothing_left(dropped: Mapping[str, int], preset: RetrievalPreset) -> NothingRelevantError:
    if not dropped:
        return NothingRelevantError("Stage 'retrieve' found no chunk", "retrieval.dense_limit=100")
    short = dropped_in_words(dropped, preset)
    return NothingRelevantError(
        f"Stage 'rerank' dropped all {sum(dropped.values())} retrieved chunks for their length: {', '.join(short)}",
        "retrieval.min_char_count=0",
        "retrieval.min_word_count=0",
    )


def _refuse_gone(ids: Iterable[int], chunks: Mapping[int, CorpusChunk], works: Mapping[int, WorkText]) -> None:
    if gone := [id_ for id_ in ids if id_ not in chunks]:
        raise chunks_gone(gone)
    if lost := [chunks[id_].work_id for id_ in ids if chunks[id_].work_id not in works]:
        raise WorkChangedError(lost[0])


def _candidate(
    chunk: CorpusChunk, hit: FusedHit, expansion: Expansion, work: WorkText, preset: RetrievalPreset
) -> RerankedChunk:
    enriched = enriched_content(chunk, work, preset)
    return RerankedChunk(
        **dict(hit),
        **chunk.model_dump(exclude={"id"}),
        enriched_content=enriched,
        rerank_score=0.0,
        entity_boost=entity_boost(expansion.entities, enriched, boost=preset.entity_boost),
        intent_boost=intent_boost(expansion.intent, level=chunk.level, chars=len(enriched)),
        final_score=0.0,
        pages=pages_of(work.page_lines, chunk.start_line, chunk.end_line),
    )


def _scored(chunk: RerankedChunk, score: float) -> RerankedChunk:
    final = score + chunk.entity_boost + chunk.intent_boost
    return chunk.model_copy(update={"rerank_score": score, "final_score": final})
