"""Stage `validate` of a tags job: whether the candidates keep their contract. No model is asked."""

from schemas.values.tags import RankedTags, RetrievedTags, ValidatedTags
from stages.tags.validate import validate_tags
from store.vocabularies.contents import PostgresVocabularies
from workers.bindings.tags.reading import min_tag_count, vocabulary_id
from workers.work import Result, Work


async def run(work: Work) -> Result[ValidatedTags]:
    """Against the vocabulary's entries of the candidates, read again."""
    settings = work.settings.psq
    ranked = await work.output(RankedTags)
    tags = [candidate.tag for candidate in ranked.candidates]
    return Result(
        validate_tags(
            ranked,
            retrieved=await work.output(RetrievedTags),
            lexicon=await PostgresVocabularies(work.database).look_up(vocabulary_id(work), tags),
            allow_nsfw_tags=work.claim.inputs["allow_nsfw_tags"],
            min_tag_count=min_tag_count(work),
            global_k=settings.retrieval_global_k,
        )
    )
