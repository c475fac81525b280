"""Stage `rerank` with a cross-encoder, which reads evidence and reference together."""

from collections.abc import Mapping

from schemas.values.participants import ExtractedEvidence, RankedReferences, Reference, RetrievedReferences
from schemas.values.phq8 import PHQ8Item
from stages.participants.chunk_texts import text_of
from stages.participants.embed import evidence_text
from stages.participants.reference_filters import ReferenceFilters
from stages.participants.rerank import rankable, ranked_references
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
    filters: ReferenceFilters,
) -> RankedReferences:
    """Score the references that pass the first filters, order them by score, and filter them as `rank_references` does.

    One call per item with such references, with all quotes of the item as the query; `timeout_s` applies to each.
    Without any, the scorer is not called, and the digest is empty. Raises ReferenceTextError when the text of a chunk
    differs from the one that was retrieved, and the errors of the scorer unchanged.
    """

    async def scored(item: PHQ8Item, references: tuple[Reference, ...]) -> tuple[Reference, ...]:
        scores = await scorer.score_pairs(
            evidence_text(extracted.quotes.get(item, ())),
            [text_of(reference, chunk_texts) for reference in references],
            timeout_s=timeout_s,
            batch_size=batch_size,
            max_tokens=max_tokens,
        )
        pairs = zip(references, scores, strict=True)
        return tuple(reference.model_copy(update={"rerank_score": score}) for reference, score in pairs)

    candidates = {
        item: found._replace(kept=await scored(item, found.kept))
        for item, found in rankable(retrieved, filters=filters).items()
    }
    was_asked = any(found.kept for found in candidates.values())
    return ranked_references(
        candidates,
        filters=filters,
        ranker=f"{CROSS_ENCODER} {scorer.name}",
        ranker_digest=await scorer.digest() if was_asked else "",
    )
