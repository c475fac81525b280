"""Stage `rerank`: the fused chunks filtered, enriched, scored by a ranker, biased, and selected for diversity."""

import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from schemas.errors import (
    DomainError,
    FailureCategory,
    NothingRelevantError,
    RerankerUnavailableError,
    WorkChangedError,
)
from schemas.settings.preset import RetrievalPreset
from schemas.values.documents import CorpusChunk
from schemas.values.queries import Expansion, Intent, Leg, RerankedChunk, RerankedChunks, RetrievedChunks
from stages.corpora.blocks import passage
from stages.corpora.cut import pages_of
from stages.corpora.works import WorkText
from stages.ports import PairScorer

Ranked = tuple[str, list[float]]
"""The ranker, and its model if it has one: `cross-encoder bge-reranker-base`. Its scores of passages against the
original query: a finite number per candidate, in order; higher is better, and scales differ between rankers."""

Ranker = Callable[[str, Sequence[RerankedChunk]], Awaitable[Ranked]]
"""Without candidates there are no scores, and no model is called."""


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

    Chunks and their vectors are by chunk id, works by work id. Equal scores keep the order of fusion. Raises
    DomainError and WorkChangedError for chunks and works that are no longer stored, the ranker's errors unchanged, and
    NothingRelevantError when no chunk is left, unless `allow_empty`.
    """
    fused = dict(retrieved.fused)
    if gone := [id_ for id_ in fused if id_ not in chunks]:
        raise chunks_gone(gone)
    if lost := [chunks[id_].work_id for id_ in fused if chunks[id_].work_id not in works]:
        raise WorkChangedError(lost[0])
    long_enough, dropped = drop_short((chunks[id_] for id_ in fused), preset)
    if not long_enough and not allow_empty:
        raise _nothing_left(dropped, preset)
    dense, lexical = (retrieved.best_ranks(leg) for leg in Leg)
    candidates = []
    for chunk in long_enough:
        work = works[chunk.work_id]
        enriched = enriched_content(chunk, work, preset)
        candidates.append(
            RerankedChunk(
                **chunk.model_dump(include={*RerankedChunk.model_fields}),
                chunk_id=chunk.id,
                fused_score=fused[chunk.id],
                rrf_score=fused[chunk.id] if retrieved.fusion == "rrf" else None,
                dense_rank=dense.get(chunk.id),
                lexical_rank=lexical.get(chunk.id),
                enriched_content=enriched,
                rerank_score=0.0,
                entity_boost=entity_boost(expansion.entities, enriched, boost=preset.entity_boost),
                intent_boost=intent_boost(expansion.intent, level=chunk.level, chars=len(enriched)),
                final_score=0.0,
                pages=pages_of(work.page_lines, chunk.start_line, chunk.end_line),
            )
        )
    by, scores = await ranker(query, candidates)
    ranked = sorted(map(_scored, candidates, scores), key=lambda chunk: -chunk.final_score)
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
        work_hashes={chunk.work_id: works[chunk.work_id].content_hash for chunk in ranked},
    )


def _nothing_left(dropped: Mapping[str, int], preset: RetrievalPreset) -> NothingRelevantError:
    if not dropped:
        return NothingRelevantError("Stage 'retrieve' found no chunk", "retrieval.dense_limit=100")
    words = {
        "blank": "blank",
        "min_chars": f"with fewer than {preset.min_char_count} characters (retrieval.min_char_count)",
        "min_words": f"with fewer than {preset.min_word_count} words (retrieval.min_word_count)",
    }
    short = ", ".join(f"{count} {words[name]}" for name, count in dropped.items())
    return NothingRelevantError(
        f"Stage 'rerank' dropped all {sum(dropped.values())} retrieved chunks for their length: {short}",
        "retrieval.min_char_count=0",
        "retrieval.min_word_count=0",
    )


def _scored(chunk: RerankedChunk, score: float) -> RerankedChunk:
    final = score + chunk.entity_boost + chunk.intent_boost
    return chunk.model_copy(update={"rerank_score": score, "final_score": final})


def drop_short(chunks: Iterable[CorpusChunk], preset: RetrievalPreset) -> tuple[list[CorpusChunk], dict[str, int]]:
    """The chunks with the characters and words (separated by white space) of the preset; 0 disables a filter. With them
    how many each filter dropped, the first of these that drops a chunk: blank, min_chars, min_words."""
    kept: list[CorpusChunk] = []
    dropped: Counter[str] = Counter()
    for chunk in chunks:
        words = len(chunk.content.split())
        if not words:
            dropped["blank"] += 1
        elif len(chunk.content) < preset.min_char_count:
            dropped["min_chars"] += 1
        elif words < preset.min_word_count:
            dropped["min_words"] += 1
        else:
            kept.append(chunk)
    return kept, dict(dropped)


def enriched_content(chunk: CorpusChunk, work: WorkText, preset: RetrievalPreset) -> str:
    """The content; with fewer than `min_content_length` characters, it is extended by the lines above and below. Blank
    lines separate the parts. Lines beyond either end of the work are ignored, and so are blank surroundings."""
    if len(chunk.content) >= preset.min_content_length:
        return chunk.content
    above = passage(work.lines, chunk.start_line - preset.enrich_lines_above, chunk.start_line - 1)
    below = passage(work.lines, chunk.end_line + 1, chunk.end_line + preset.enrich_lines_below)
    return "\n\n".join(part for part in (above, chunk.content, below) if part.strip())


def entity_boost(entities: Iterable[str], text: str, *, boost: float) -> float:
    """`boost` times the number of distinct entities that occur in the text, ignoring case. Blank ones do not count.

    >>> entity_boost(["Black Tea", "oolong", "enzyme", " "], "Enzymes darken black tea.", boost=0.05)
    0.1
    """
    lowered = text.lower()
    names = {entity.strip().lower() for entity in entities} - {""}
    return boost * sum(name in lowered for name in names)


_LENGTH_BOOST = 0.01
_SHORT, _MEDIUM, _LONG = range(500), range(400, 901), range(801, sys.maxsize)
_PREFERENCES: Final[Mapping[str, tuple[frozenset[str], float, range]]] = {
    Intent.DEFINITION: (frozenset({"H2", "H3"}), 0.03, _SHORT),
    Intent.MECHANISM: (frozenset({"H3", "H4", "chunk"}), 0.02, _LONG),
    Intent.COMPARISON: (frozenset({"H2", "H3"}), 0.02, _MEDIUM),
    Intent.APPLICATION: (frozenset({"H4", "chunk", "sentence"}), 0.02, _MEDIUM),
    Intent.STUDY_DETAIL: (frozenset({"H4", "chunk"}), 0.03, _LONG),
    Intent.CRITIQUE: (frozenset({"H3", "H4"}), 0.02, _MEDIUM),
}
"""The heading levels that answers to queries of one intent tend to have, the bonus for these, and the characters that
the ranked text of such answers tends to have."""


def intent_boost(intent: str | None, *, level: str, chars: int) -> float:
    """The bonus for the level of the chunk's heading, plus the one for the length of the ranked text; 0 without one of
    these intents. `H2-chunk`, content under a heading of level 2, counts as `H2`.

    >>> intent_boost(Intent.DEFINITION, level="H2-chunk", chars=499)
    0.04
    """
    levels, level_boost, lengths = _PREFERENCES.get(intent or "", (frozenset(), 0.0, range(0)))
    of_level = level_boost if level.removesuffix("-chunk") in levels else 0.0
    return of_level + (_LENGTH_BOOST if chars in lengths else 0.0)


Scores = NDArray[np.float64]


def z_scores(scores: Scores) -> Scores:
    """Distances from the mean in standard deviations (of the population). Equal scores are all 0.

    >>> z_scores(np.array([1.0, 2.0, 3.0])).round(4).tolist()
    [-1.2247, 0.0, 1.2247]
    """
    if _are_equal(scores) or scores.std() == 0:  # the squares of tiny differences are 0
        return np.zeros_like(scores)
    return np.asarray((scores - scores.mean()) / scores.std())


def unit_range(scores: Scores) -> Scores:
    """The scores shifted and scaled to 0 to 1. Equal scores are all 0.

    >>> unit_range(np.array([2.0, 4.0, 3.0])).tolist()
    [0.0, 1.0, 0.5]
    """
    if _are_equal(scores):
        return np.zeros_like(scores)
    return np.asarray((scores - scores.min()) / (scores.max() - scores.min()))


def _are_equal(scores: Scores) -> bool:
    return len(scores) == 0 or bool(scores.max() == scores.min())


def select_diverse(scores: Sequence[float], similarity: Scores, *, count: int, mmr_lambda: float) -> list[int]:
    """Indices of up to `count` candidates, in the order of their selection. Scores are given best first.

    The first candidate is selected, then repeatedly the one with the highest lambda * score - (1 - lambda) * its
    greatest similarity to one already selected, with scores scaled to 0 to 1. Of equals the earlier one is selected.
    With no more than `count` candidates, all are returned in their order.
    """
    if len(scores) <= count:
        return list(range(len(scores)))
    relevance = mmr_lambda * unit_range(np.asarray(scores, dtype=np.float64))
    selected = [0]
    while len(selected) < count:
        gain = relevance - (1 - mmr_lambda) * similarity[:, selected].max(axis=1)
        gain[selected] = -np.inf
        selected.append(int(gain.argmax()))
    return selected


def passage_similarity(ids: Sequence[int], texts: Sequence[str], vectors: Mapping[int, NDArray[np.float32]]) -> Scores:
    """The similarity of each pair of passages, 0 to 1: (cosine + 1) / 2 of their vectors, a vector of zeros having the
    cosine 0; where a vector is missing, the Jaccard similarity of their words in lower case."""
    known = np.array([id_ in vectors for id_ in ids], dtype=bool)
    words = [set(text.lower().split()) for text in texts]
    similarity = np.zeros((len(ids), len(ids)))
    for one, other in np.argwhere(~np.logical_and.outer(known, known)):
        either = words[one] | words[other]
        similarity[one, other] = len(words[one] & words[other]) / len(either) if either else 0.0
    if known.any():
        rows = np.stack([vectors[id_] for id_ in ids if id_ in vectors]).astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units = rows / np.where(lengths == 0, 1, lengths)
        # Rounded, because equal products may differ in the last bit by position, which would break ties.
        similarity[np.ix_(known, known)] = ((units @ units.T + 1) / 2).round(12)
    return similarity


NO_RANKER: Final = "none"


async def keep_order(query: str, candidates: Sequence[RerankedChunk]) -> Ranked:
    """The fused scores, unchanged."""
    return NO_RANKER, [candidate.fused_score for candidate in candidates]


async def by_cross_encoder(
    query: str,
    candidates: Sequence[RerankedChunk],
    *,
    scorer: PairScorer,
    preset: RetrievalPreset,
    timeout_s: float,
    instead: Ranker | None = None,
) -> Ranked:
    """The raw logits of query and enriched content; the scores of `instead`, if there is one, where the cross-encoder
    cannot be loaded, which the name then states."""
    try:
        scores = await scorer.score_pairs(
            query,
            [candidate.enriched_content for candidate in candidates],
            timeout_s=timeout_s,
            batch_size=preset.reranker_batch_size,
            max_tokens=preset.reranker_max_length,
        )
    except RerankerUnavailableError:
        if instead is None:
            raise
        by, scores = await instead(query, candidates)
        return f"{by}, without the weights of {scorer.name}", scores
    return f"cross-encoder {scorer.name}", scores


async def by_score_fusion(
    query: str,
    candidates: Sequence[RerankedChunk],
    *,
    query_vector: NDArray[np.float32],
    chunk_vectors: Mapping[int, NDArray[np.float32]],
    lexical_scores: Mapping[int, float],
) -> Ranked:
    """z(cosine) + z(full-text score), both of the original query and computed for every candidate, whichever search
    found it. Vectors have length 1; DomainError is raised where one is missing. A chunk without a lexical score does
    not match, and has 0."""
    ids = [candidate.chunk_id for candidate in candidates]
    if gone := [id_ for id_ in ids if id_ not in chunk_vectors]:
        raise chunks_gone(gone)
    cosines = np.array([float(chunk_vectors[id_].astype(np.float64) @ query_vector) for id_ in ids])
    lexical = np.array([lexical_scores.get(id_, 0.0) for id_ in ids])
    return "score-fusion", (z_scores(cosines) + z_scores(lexical)).tolist()


def chunks_gone(chunk_ids: Sequence[int]) -> DomainError:
    """For chunks that a stage works on and that are no longer stored."""
    return DomainError(
        f"{len(chunk_ids)} retrieved chunks are no longer stored, chunk {chunk_ids[0]} first; "
        "retry the job from stage 'retrieve'.",
        FailureCategory.INPUT_CHANGED,
    )
