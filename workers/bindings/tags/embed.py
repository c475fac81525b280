"""Stage `embed` of a tags job: the final phrases, their vectors, and the context of the request."""

import asyncio

from schemas.errors import VocabularyModelsError
from schemas.values.tags import EmbeddedPhrases
from stages.tags.embed import PhraseVectors, Sentences, embed_phrases
from stages.tags.phrases import final_phrases
from stages.tags.spelling import plain
from workers.bindings.tags.reading import context_tags, models, phrases, sentence_model, vocabulary_id
from workers.work import Result, Work


async def run(work: Work) -> Result[EmbeddedPhrases]:
    """By the models of the vocabulary, in a thread, and by its sentence embedder."""
    loaded = await models(work)
    given, context = phrases(work), context_tags(work)
    sentences = await _sentences(work, given)

    def embed() -> PhraseVectors:
        return embed_phrases(
            given,
            tokens=loaded.tokens,
            context_model=loaded.context,
            context_tags=context,
            context_tag_weight=work.settings.psq.context_tag_weight,
            sentences=sentences,
        )

    embedded = await asyncio.to_thread(embed)
    return Result(embedded.phrases, embedded.vectors)


async def _sentences(work: Work, given: list[str]) -> Sentences | None:
    model = sentence_model(work)
    if model is None:
        return None
    embedder = work.embedder_of(model.backend, model.model)
    digest = await embedder.digest()
    if digest != model.digest:
        raise VocabularyModelsError(
            f"The names of the vocabulary were embedded by other weights of {model.model} ({model.digest[:12]}, not "
            f"{digest[:12]}). Import and index the vocabulary again, or set PSQ_SIMILARITY=original."
        )
    characters = (await work.tag_models.fused(vocabulary_id(work))).characters
    lookups = [phrase.lookup for phrase in final_phrases(given) if characters.knows(plain(phrase.lookup))]
    embedded = await embedder.embed_batch(
        [plain(lookup) for lookup in lookups],
        timeout_s=work.settings.embedding.query_embed_timeout_seconds,
        truncate=True,
    )
    return Sentences(model, lookups, embedded.vectors)
