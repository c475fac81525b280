"""Stage `rerank` of a participant: order and filters of references."""

from schemas.settings.run import RunSettings
from schemas.values.participants import ExtractedEvidence, RankedReferences, RetrievedReferences
from stages.participants.deduplicate import by_place
from stages.participants.reference_filters import ReferenceFilters, reference_filters
from stages.participants.rerank import rank_references
from stages.participants.rerank_by_cross_encoder import rerank_by_cross_encoder
from workers.work import Result, Work


async def run(work: Work) -> Result[RankedReferences]:
    """The order of each item, by the cross-encoder where the run has one, and the run's filters."""
    ragq = work.settings.ragq
    retrieved = await work.output(RetrievedReferences)
    filters = _filters(work.settings)
    if ragq.reranker == "similarity":
        return Result(rank_references(retrieved, filters=filters))
    return Result(
        await rerank_by_cross_encoder(
            retrieved,
            extracted=await work.output(ExtractedEvidence),
            chunk_texts=await work.chunk_texts(retrieved.items),
            scorer=work.pair_scorer(ragq.reranker_model),
            timeout_s=ragq.reranker_timeout_seconds,
            batch_size=ragq.reranker_batch_size,
            max_tokens=ragq.reranker_max_tokens,
            filters=filters,
        )
    )


def _filters(settings: RunSettings) -> ReferenceFilters:
    embedding = settings.embedding
    overlap = by_place(size=embedding.chunk_size, step=embedding.chunk_step)
    return reference_filters(
        min_similarity=embedding.min_reference_similarity,
        top_k=embedding.top_k_references,
        max_chars=embedding.max_reference_chars_per_item,
        repeats=overlap if settings.ragq.deduplicate_references else None,
    )
