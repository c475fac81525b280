"""The stages of tags, and the one that builds the models of a vocabulary."""

import asyncio
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from adapters.tag_models import DIMENSION, build_tag_models, similarity_file
from schemas.errors import DomainError, FailureCategory
from schemas.values.tags import BuiltVocabulary, EmbeddedPhrases, RankedTags, RetrievedTags, ValidatedTags, Vocabulary
from stages.ports import LookUp, Vector
from stages.tags.phrases import final_phrases
from stages.tags.rerank import rank_tags
from stages.tags.retrieve import embed_phrases, retrieve_tags
from stages.tags.similarity import TokenModel, plain
from stages.tags.validate import validate_tags
from store import vocabularies
from store.runs.chain import content_hash
from store.vocabularies import Part
from workers.wiring import VocabularyModels
from workers.work import Result, Work


async def run_embed(work: Work) -> Result[EmbeddedPhrases]:
    """The final phrases, their vectors by the models of the vocabulary, and the context of the request."""
    loaded = await models(work)
    phrases, context_tags = given(work, "phrases"), given(work, "context_tags")
    embedded, vectors = await asyncio.to_thread(
        embed_phrases,
        phrases,
        tokens=loaded.tokens,
        context_model=loaded.context,
        context_tags=context_tags,
        context_tag_weight=work.settings.psq.context_tag_weight,
        sentences=await _sentences(work, phrases, loaded),
    )
    return Result(embedded, vectors)


async def _sentences(work: Work, phrases: list[str], loaded: VocabularyModels) -> dict[str, Vector] | None:
    asked = given(work, "sentences")
    if asked is None or loaded.fused is None:
        return None
    embedder = work.embedder_of(asked["backend"], asked["model"])
    digest = await embedder.digest()
    if digest != asked["digest"]:
        raise DomainError(
            f"The names of the vocabulary were embedded by other weights of {asked['model']} "
            f"({asked['digest'][:12]}, not {digest[:12]}). Import and index the vocabulary again, or set "
            "PSQ_SIMILARITY=original.",
            FailureCategory.VOCABULARY_UNUSABLE,
        )
    characters = loaded.fused.characters
    lookups = [phrase.lookup for phrase in final_phrases(phrases) if characters.knows(plain(phrase.lookup))]
    embedded = await embedder.embed_batch(
        [plain(lookup) for lookup in lookups],
        timeout_s=work.settings.embedding.query_embed_timeout_seconds,
        truncate=True,
    )
    return dict(zip(lookups, embedded.vectors, strict=True))


async def run_retrieve(work: Work) -> RetrievedTags:
    """The tags that each phrase leads to: the neighbours of all phrases at once, in memory."""
    settings = work.settings.psq
    loaded = await models(work)
    return await retrieve_tags(
        await work.output(EmbeddedPhrases),
        await work.vectors(EmbeddedPhrases),
        look_up=_look_up(work),
        search=(loaded.fused or loaded.tokens).nearest,
        allow_nsfw_tags=given(work, "allow_nsfw_tags"),
        per_phrase_k=settings.retrieval_per_phrase_k,
        min_tag_count=given(work, "min_tag_count"),
        skip_exact=settings.skip_fasttext_for_exact_alias,
    )


async def run_rerank(work: Work) -> RankedTags:
    """Similarity and context as one score, and all phrases as one list."""
    settings = work.settings.psq
    embedded = await work.output(EmbeddedPhrases)
    retrieved = await work.output(RetrievedTags)
    rows = (await models(work)).context.rows_of(retrieved.tags)
    chosen = settings.retrieval_per_phrase_final_k
    return await asyncio.to_thread(
        rank_tags,
        retrieved,
        context=embedded.context,
        rows=rows,
        context_weight=settings.context_weight,
        per_phrase_final_k=chosen if chosen != "auto" else None if given(work, "sentences") else 1,
        global_k=settings.retrieval_global_k,
    )


async def run_validate(work: Work) -> ValidatedTags:
    """Whether the candidates keep their contract, by the vocabulary's entries, read again."""
    settings = work.settings.psq
    ranked = await work.output(RankedTags)
    tags = [candidate.tag for candidate in ranked.candidates]
    return validate_tags(
        ranked,
        retrieved=await work.output(RetrievedTags),
        vocabulary=await _look_up(work)(tags),
        allow_nsfw_tags=given(work, "allow_nsfw_tags"),
        min_tag_count=given(work, "min_tag_count"),
        global_k=settings.retrieval_global_k,
    )


def _look_up(work: Work) -> LookUp:
    return partial(vocabularies.look_up, work.database, given(work, "vocabulary_id"))


def given(work: Work, name: str) -> Any:
    """An input of the job, noted as read: a text by its hash. None for one that it does not have."""
    found = work.claim.inputs.get(name)
    if found is not None:
        work.read[name] = found if isinstance(found, int) else content_hash(found)
    return found


async def models(work: Work) -> VocabularyModels:
    return await work.wiring.tag_models.of(
        given(work, "vocabulary_id"),
        tokens_digest=given(work, "tokens_digest"),
        context_digest=given(work, "context_digest"),
        is_fused=given(work, "sentences") is not None,
    )


BATCH = 256
"""Names of one call to the embedder, so that questions find their turn between."""


async def index_embed(work: Work) -> Result[BuiltVocabulary]:
    """The models of a vocabulary, visible in the same transaction; built in a thread, while the names are embedded."""
    built_for = given(work, "vocabulary_id")
    content = await work.database.ask(vocabularies.content, built_for)
    (tokens, context), similarity = await asyncio.gather(
        asyncio.to_thread(build_tag_models, content), _similarity(work, content)
    )
    files: dict[Part, bytes] = {"tokens": tokens, "context": context}
    sentences: dict[str, str] = {}
    if similarity is not None:
        files["similarity"], sentences = similarity
    digests = {part: sha256(file).hexdigest() for part, file in files.items()}
    built = BuiltVocabulary(
        vocabulary_id=built_for,
        model=TokenModel.name,
        model_digest=digests["tokens"],
        context_digest=digests["context"],
        similarity_digest=digests.get("similarity"),
        dimension=DIMENSION,
        **sentences,
    )
    return Result(built, effect=partial(vocabularies.keep_models, built=built, files=files))


async def _similarity(work: Work, vocabulary: Vocabulary) -> tuple[bytes, dict[str, str]] | None:
    """The meaning of all names, and what embedded them; None where the submission asks for FastText alone."""
    asked = given(work, "sentences")
    if asked is None or not vocabulary.tags:
        return None
    embedder = work.embedder_of(asked["backend"], asked["model"])
    tokens = sorted({*(tag.name for tag in vocabulary.tags), *vocabulary.aliases})
    parts = [
        await embedder.embed_batch(
            [plain(token) or token for token in tokens[start : start + BATCH]],
            timeout_s=work.settings.embedding.query_embed_timeout_seconds,
            truncate=True,
        )
        for start in range(0, len(tokens), BATCH)
    ]
    file = await asyncio.to_thread(similarity_file, np.concatenate([part.vectors for part in parts]))
    used = {"sentence_backend": asked["backend"], "sentence_model": asked["model"]}
    return file, {**used, "sentence_digest": await embedder.digest()}
