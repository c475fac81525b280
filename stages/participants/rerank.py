"""Stage `rerank`: the order of the references, and the filters that limit them (Spec 33)."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from schemas.settings.run import EmbeddingSettings, RunSettings
from schemas.values.participants import (
    ExtractedEvidence,
    PHQ8Item,
    RankedReferences,
    Reference,
    RetrievedReferences,
    ValidatedReferences,
)
from stages.participants.assemble import text_of
from stages.participants.embed import evidence_text
from stages.ports import PairScorer

#: Of the cross-encoder: pairs in one pass, and tokens of a pair that it reads.
_PAIRS_AT_ONCE, _READ_TOKENS = 8, 512

MAX_SHARED = 0.5
"""The share of lines that two references may have in common; neighbours share 6 of 8."""


def repeats(better: Reference, reference: Reference, embedding: EmbeddingSettings) -> bool:
    """Whether two windows of one transcript share too many lines to show both, by their position alone. The last window
    of a transcript may share a few more lines with its neighbour than counted here.

    >>> first = Reference(
    ...     chunk_id=1, participant_id=302, ordinal=5, similarity=1.0, score=2, chunk_hash="", chunk_chars=0
    ... )
    >>> others = (first.model_copy(update={"ordinal": at}) for at in (4, 6, 7, 8))
    >>> [repeats(first, other, EmbeddingSettings(chunk_size=8, chunk_step=2)) for other in others]
    [True, True, False, False]
    """
    shared = embedding.chunk_size - embedding.chunk_step * abs(better.ordinal - reference.ordinal)
    return better.participant_id == reference.participant_id and shared > MAX_SHARED * embedding.chunk_size


# The tag filter (Spec 34) is the only one that is not here: the search applies it before the limit on candidates.

TAGS = "tags"
"""The name of the tag filter in counts of dropped references."""

FILTERS = ("threshold", "duplicate", "top_k", "budget")
"""The names of the filters here, in order."""

References = dict[PHQ8Item, tuple[Reference, ...]]


def rank_references(retrieved: RetrievedReferences, settings: RunSettings) -> RankedReferences:
    """Order the references of each item by similarity, and filter them."""
    return _ranked(retrieved, _similar(retrieved, settings), settings, ranker="similarity")


def _similar(retrieved: RetrievedReferences, settings: RunSettings) -> References:
    """The references that reach the threshold, which a ranker sees; it is off at 0."""
    least = settings.embedding.min_reference_similarity
    return {
        item: tuple(reference for reference in references if not least or reference.similarity >= least)
        for item, references in retrieved.items.items()
    }


def _ranked(
    retrieved: RetrievedReferences, similar: References, settings: RunSettings, *, ranker: str, ranker_digest: str = ""
) -> RankedReferences:
    """The similar references best first, filtered. Equal ones are ordered by participant, then by position."""
    items: dict[PHQ8Item, tuple[Reference, ...]] = {}
    dropped: dict[PHQ8Item, dict[str, int]] = {}
    for item, references in similar.items():
        ranked = sorted(references, key=lambda ref: (-_fit(ref), ref.participant_id, ref.ordinal))
        items[item], later = _chosen(ranked, settings)
        counts = retrieved.dropped.get(item, {}) | {"threshold": len(retrieved.items[item]) - len(references)} | later
        if found := {name: count for name, count in counts.items() if count}:
            dropped[item] = found
    return RankedReferences(ranker=ranker, ranker_digest=ranker_digest, items=items, dropped=dropped)


def _fit(reference: Reference) -> float:
    """The sort value of a reference, higher first: the score of the cross-encoder if there is one, else similarity."""
    return reference.similarity if reference.rerank_score is None else reference.rerank_score


def _chosen(ranked: Sequence[Reference], settings: RunSettings) -> tuple[tuple[Reference, ...], dict[str, int]]:
    """Those of one item, best first, after de-duplication, top-k and budget (Spec A.5), and what each of these dropped.
    A reference that repeats a better one is replaced by the next. One without a score takes a place like all others.
    The budget ends at the first reference whose text exceeds it, even if a later one would fit; it is off at 0."""
    embedding, top, repeated = settings.embedding, list[Reference](), 0
    for reference in ranked:
        if len(top) == embedding.top_k_references:
            break
        if settings.ragq.deduplicate_references and any(repeats(better, reference, embedding) for better in top):
            repeated += 1
        else:
            top.append(reference)
    spent = accumulate(reference.chunk_chars for reference in top)
    budget = embedding.max_reference_chars_per_item
    kept = tuple(one for one, chars in zip(top, spent, strict=True) if not budget or chars <= budget)
    beyond = len(ranked) - repeated - len(top)
    return kept, {"duplicate": repeated, "top_k": beyond, "budget": len(top) - len(kept)}


async def rerank_by_cross_encoder(
    retrieved: RetrievedReferences,
    *,
    extracted: ExtractedEvidence,
    chunk_texts: Mapping[int, str],
    scorer: PairScorer,
    settings: RunSettings,
) -> RankedReferences:
    """Score the references that reach the threshold, order them by score, and filter them as `rank_references` does.

    One call per item with such references, with all quotes of the item as the query; the time-out applies to each.
    Without any, the scorer is not called, and the digest is empty. Raises DomainError when the text of a chunk
    differs from the one that was retrieved, and the errors of the scorer unchanged.
    """
    similar = _similar(retrieved, settings)
    for item, references in similar.items():
        scores = await scorer.score_pairs(
            evidence_text(extracted.quotes.get(item, ())),
            [text_of(reference, chunk_texts) for reference in references],
            timeout_s=settings.ragq.reranker_timeout_seconds,
            batch_size=_PAIRS_AT_ONCE,
            max_tokens=_READ_TOKENS,
        )
        pairs = zip(references, scores, strict=True)
        similar[item] = tuple(reference.model_copy(update={"rerank_score": score}) for reference, score in pairs)
    was_asked = any(similar.values())
    return _ranked(
        retrieved,
        similar,
        settings,
        ranker=f"cross_encoder {scorer.name}",
        ranker_digest=await scorer.digest() if was_asked else "",
    )


def retrieved_reference_events(validated: ValidatedReferences) -> list[dict[str, str | int | float | None]]:
    """The fields of one audit event per kept reference, by item in the questionnaire's order, then by rank from 1."""
    return [
        {
            "item": item.value,
            "evidence_key": item.evidence_key,
            "rank": rank,
            "reference_score": reference.score,
            **reference.model_dump(include={"similarity", "participant_id", "chunk_hash", "chunk_chars"}),
        }
        for item in PHQ8Item
        for rank, reference in enumerate(validated.items.get(item, ()), start=1)
    ]
