"""Stage `embed` of a tags job: the final phrases, their vectors, and the context of the request."""

import asyncio

from schemas.values.tags import EmbeddedPhrases
from stages.tags.embed import PhraseVectors, embed_phrases
from workers.bindings.tags.reading import context_tags, models, phrases
from workers.work import Result, Work


async def run(work: Work) -> Result[EmbeddedPhrases]:
    """By the models of the vocabulary, in a thread."""
    loaded = await models(work)
    given, context = phrases(work), context_tags(work)

    def embed() -> PhraseVectors:
        return embed_phrases(
            given,
            tokens=loaded.tokens,
            context_model=loaded.context,
            context_tags=context,
            context_tag_weight=work.settings.psq.context_tag_weight,
        )

    embedded = await asyncio.to_thread(embed)
    return Result(embedded.phrases, embedded.vectors)
