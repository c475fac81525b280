"""Stage `rerank` of a participant: order and guards of references."""

from schemas.values.participants import ExtractedEvidence, RankedReferences, RetrievedReferences
from stages.participants.deduplicate import by_place, nothing_repeats
from stages.participants.rerank import rank_references
from stages.participants.rerank_by_cross_encoder import rerank_by_cross_encoder
from workers.work import Result, Work


async def run(work: Work) -> Result[RankedReferences]:
    """Threshold, the cross-encoder where the run has one, repetitions, top-k and budget per item."""
    settings, ragq = work.settings.embedding, work.settings.ragq
    retrieved = await work.output(RetrievedReferences)
    overlap = by_place(size=settings.chunk_size, step=settings.chunk_step)
    repeats = overlap if ragq.deduplicate_references else nothing_repeats
    if ragq.reranker == "similarity":
        return Result(
            rank_references(
                retrieved,
                min_similarity=settings.min_reference_similarity,
                top_k=settings.top_k_references,
                max_chars=settings.max_reference_chars_per_item,
                repeats=repeats,
            )
        )
    return Result(
        await rerank_by_cross_encoder(
            retrieved,
            extracted=await work.output(ExtractedEvidence),
            chunk_texts=await work.chunk_texts(retrieved.items),
            scorer=work.pair_scorer(ragq.reranker_model),
            timeout_s=ragq.reranker_timeout_seconds,
            batch_size=ragq.reranker_batch_size,
            max_tokens=ragq.reranker_max_tokens,
            min_similarity=settings.min_reference_similarity,
            top_k=settings.top_k_references,
            max_chars=settings.max_reference_chars_per_item,
            repeats=repeats,
        )
    )
