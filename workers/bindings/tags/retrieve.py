"""Stage `retrieve` of a tags job: the tags that each phrase leads to."""

from schemas.values.tags import EmbeddedPhrases, RetrievedTags
from stages.tags.retrieve import retrieve_tags
from store.vocabularies.contents import PostgresVocabularies
from workers.bindings.tags.reading import min_tag_count, vocabulary_id
from workers.work import Result, Work


async def run(work: Work) -> Result[RetrievedTags]:
    """The neighbours of all phrases at once, in memory."""
    settings = work.settings.psq
    return Result(
        await retrieve_tags(
            await work.output(EmbeddedPhrases),
            await work.vectors(EmbeddedPhrases),
            lexicon=PostgresVocabularies(work.database),
            search=work.tag_models,
            vocabulary_id=vocabulary_id(work),
            allow_nsfw_tags=work.claim.inputs["allow_nsfw_tags"],
            per_phrase_k=settings.retrieval_per_phrase_k,
            min_tag_count=min_tag_count(work),
            skip_exact=settings.skip_fasttext_for_exact_alias,
        )
    )
