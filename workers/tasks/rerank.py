"""Stage `rerank`: order and guards."""

from schemas.values.participants import RetrievedReferences
from stages.participants.deduplicate import by_place, nothing_repeats
from stages.participants.rerank import rank_references
from workers.stage_task import define_stage
from workers.work import Result, Work


async def rerank_of_participant(work: Work) -> Result:
    """Threshold, repetitions, top-k and budget per item."""
    settings = work.settings.embedding
    overlap = by_place(size=settings.chunk_size, step=settings.chunk_step)
    return Result(
        rank_references(
            await work.output("retrieve", RetrievedReferences),
            min_similarity=settings.min_reference_similarity,
            top_k=settings.top_k_references,
            max_chars=settings.max_reference_chars_per_item,
            repeats=overlap if work.settings.ragq.deduplicate_references else nothing_repeats,
        )
    )


define_stage("rerank", participant=rerank_of_participant)
