"""Stage `rerank`: the fused chunks filtered, enriched, scored by a ranker, biased, and selected for diversity."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from schemas.errors import ChunksGoneError, NothingRelevantError, WorkChangedError
from schemas.settings.preset import RetrievalPreset
from schemas.values.documents import CorpusChunk
from schemas.values.queries import Expansion, RerankedChunk, RerankedChunks, RetrievedChunks
from stages.corpora.cut import pages_of
from stages.queries.ranking import (
    Ranker,
    RankingCandidate,
    drop_short,
    dropped_in_words,
    enriched_content,
    entity_boost,
    intent_boost,
    passage_similarity,
    select_diverse,
)
from stages.queries.works import WorkText


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
    ChunksGoneError and WorkChangedError for chunks and works that are no longer stored, and the ranker's errors
    unchanged. If nothing was retrieved, or the filters drop all, the ranker is not called: there are no chunks with
    `allow_empty`, otherwise NothingRelevantError is raised.
    """
    hits = {hit.chunk_id: hit for hit in retrieved.fused}
    _refuse_gone(hits, chunks, works)
    long_enough, dropped, kept_short = drop_short((chunks[id_] for id_ in hits), preset)
    if not long_enough and not allow_empty:
        raise _nothing_left(dropped, preset)
    candidates = [
        RankingCandidate(chunk, hits[chunk.id], enriched_content(chunk, works[chunk.work_id], preset))
        for chunk in long_enough
    ]
    scores = await ranker.scores(query, candidates) if candidates else []
    ranked = sorted(
        (
            _scored(candidate, score, expansion, works[candidate.chunk.work_id], boost_per_entity=preset.entity_boost)
            for candidate, score in zip(candidates, scores, strict=True)
        ),
        key=lambda chunk: -chunk.final_score,
    )
    ids = [chunk.chunk_id for chunk in ranked]
    selected = select_diverse(
        [chunk.final_score for chunk in ranked],
        passage_similarity(ids, [chunk.enriched_content for chunk in ranked], vectors),
        count=preset.top_n_final,
        mmr_lambda=preset.mmr_lambda,
    )
    return RerankedChunks(
        ranker=ranker.name,
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
        raise ChunksGoneError(gone)
    if lost := [chunks[id_].work_id for id_ in ids if chunks[id_].work_id not in works]:
        raise WorkChangedError(lost[0])


def _scored(
    candidate: RankingCandidate, score: float, expansion: Expansion, work: WorkText, *, boost_per_entity: float
) -> RerankedChunk:
    chunk, hit, enriched = candidate
    of_entities = entity_boost(expansion.entities, enriched, boost=boost_per_entity)
    of_intent = intent_boost(expansion.intent, level=chunk.level, chars=len(enriched))
    return RerankedChunk(
        chunk_id=chunk.id,
        work_id=chunk.work_id,
        parent_id=chunk.parent_id,
        level=chunk.level,
        heading_breadcrumbs=chunk.heading_breadcrumbs,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        content=chunk.content,
        enriched_content=enriched,
        fused_score=hit.fused_score,
        dense_rank=hit.dense_rank,
        lexical_rank=hit.lexical_rank,
        rerank_score=score,
        entity_boost=of_entities,
        intent_boost=of_intent,
        final_score=score + of_entities + of_intent,
        pages=pages_of(work.page_lines, chunk.start_line, chunk.end_line),
    )
