"""Stage `rerank` of a tags job: similarity and context as one score, and all phrases as one list."""

import asyncio

from schemas.values.tags import EmbeddedPhrases, RankedTags, RetrievedTags
from stages.tags.rerank import rank_tags
from store.vocabularies import built_models
from workers.bindings.tags.reading import sentence_model, vocabulary_id
from workers.work import Result, Work


async def run(work: Work) -> Result[RankedTags]:
    """With the context rows of every tag that was found, in a thread."""
    settings = work.settings.psq
    embedded = await work.output(EmbeddedPhrases)
    retrieved = await work.output(RetrievedTags)
    of_vocabulary = vocabulary_id(work)
    rows = await work.database.with_retry(
        lambda connection: built_models.context_rows(connection, of_vocabulary, retrieved.tags)
    )
    chosen = settings.retrieval_per_phrase_final_k
    final_k = chosen if chosen != "auto" else None if sentence_model(work) else 1

    def rank() -> RankedTags:
        return rank_tags(
            retrieved,
            context=embedded.context,
            rows=rows,
            context_weight=settings.context_weight,
            per_phrase_final_k=final_k,
            global_k=settings.retrieval_global_k,
        )

    return Result(await asyncio.to_thread(rank))
