"""Stage `rerank` with a cross-encoder, which reads evidence and reference together."""

from collections.abc import Mapping

from schemas.values.participants import ExtractedEvidence, RankedReferences, Reference, RetrievedReferences
from schemas.values.phq8 import PHQ8Item
from stages.participants.chunk_texts import text_of
from stages.participants.deduplicate import Repeats, nothing_repeats
from stages.participants.embed import evidence_text
from stages.participants.rerank import rank_references
from stages.ports import PairScorer

CROSS_ENCODER = "cross_encoder"
"""The ranker; the name of its model follows."""


async def rerank_by_cross_encoder(
    retrieved: RetrievedReferences,
    *,
    extracted: ExtractedEvidence,
    chunk_texts: Mapping[int, str],
    scorer: PairScorer,
    timeout_s: float,
    batch_size: int,
    max_tokens: int,
    min_similarity: float,
    top_k: int,
    max_chars: int,
    repeats: Repeats = nothing_repeats,
) -> RankedReferences:
    """Score the references that reach the threshold, order them by score, and guard them as `rank_references` does.

    One call per item with such references, with all quotes of the item as the query; `timeout_s` applies to each.
    Without any, the scorer is not called, and the digest is empty. Raises ReferenceTextError when the text of a chunk
    differs from the one that was retrieved, and the errors of the scorer unchanged.
    """

    async def scored(item: PHQ8Item, references: tuple[Reference, ...]) -> tuple[Reference, ...]:
        similar = [reference for reference in references if reference.similarity >= min_similarity]
        scores = await scorer.score_pairs(
            evidence_text(extracted.quotes.get(item, ())),
            [text_of(reference, chunk_texts) for reference in similar],
            timeout_s=timeout_s,
            batch_size=batch_size,
            max_tokens=max_tokens,
        )
        score_of = {reference.chunk_id: score for reference, score in zip(similar, scores, strict=True)}
        return tuple(ref.model_copy(update={"rerank_score": score_of.get(ref.chunk_id)}) for ref in references)

    items = {item: await scored(item, references) for item, references in retrieved.items.items()}
    ranked = rank_references(
        retrieved.model_copy(update={"items": items}),
        min_similarity=min_similarity,
        top_k=top_k,
        max_chars=max_chars,
        repeats=repeats,
    )
    was_asked = any(ref.rerank_score is not None for references in items.values() for ref in references)
    return ranked.model_copy(
        update={
            "ranker": f"{CROSS_ENCODER} {scorer.name}",
            "ranker_digest": await scorer.digest() if was_asked else "",
        }
    )
