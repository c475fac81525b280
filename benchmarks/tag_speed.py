"""The speed of finding tags for phrases, in one process over a real Postgres."""

import asyncio
from collections.abc import Collection, Mapping
from random import Random
from statistics import median, quantiles
from time import perf_counter
from typing import NamedTuple

import numpy as np

from adapters.context_file import read_context_model
from adapters.fasttext_tokens import FastTextTokens
from adapters.tag_models import TagModelBuilder
from schemas.values.tags import Tag, Vocabulary
from stages.tags.candidates import SearchedVocabulary, candidates_from_phrases
from stages.tags.models import BuiltModels
from stages.tags.ports import Vector
from store.database import Database
from store.vocabularies import vocabularies
from store.vocabularies.vocabularies import PostgresVocabularies

PHRASES = 5
"""Phrases of a request, which heads are added to."""

MANY_TAGS = 100_000


class Speed(NamedTuple):
    """The measurements."""

    chains_per_s: float
    """Requests of PHRASES phrases through embed, retrieve, rerank and validate, one after the other."""
    retrieve_p50_ms: float
    """Neighbours of PHRASES words among MANY_TAGS tokens, in one round trip."""
    retrieve_p95_ms: float


def measure(database_url: str, vocabulary: Vocabulary, *, seed: int, requests: int, searches: int) -> Speed:
    """The rate of the whole chain on a vocabulary, and of searching a large one of random vectors."""
    return asyncio.run(_measure(database_url, vocabulary, seed, requests, searches))


async def _measure(database_url: str, vocabulary: Vocabulary, seed: int, requests: int, searches: int) -> Speed:
    database = Database(database_url)
    try:
        chains = await _chains_per_s(database, vocabulary, seed, requests)
        taken = await _search_ms(database, seed, searches)
    finally:
        await database.close()
    return Speed(chains, median(taken), quantiles(taken, n=20)[-1])


async def _chains_per_s(database: Database, vocabulary: Vocabulary, seed: int, requests: int) -> float:
    built = TagModelBuilder(epochs=1).build(vocabulary, seed=seed)
    async with database.connection() as connection:
        vocabulary_id = await vocabularies.keep(connection, "measured", vocabulary)
        await vocabularies.keep_models(connection, vocabulary_id, built)
        await connection.execute("ANALYZE")
    stored = PostgresVocabularies(database)

    async def rows(tags: Collection[str]) -> Mapping[str, Vector]:
        async with database.connection() as connection:
            return await vocabularies.context_rows(connection, vocabulary_id, tags)

    searched = SearchedVocabulary(
        vocabulary_id,
        stored,
        stored,
        FastTextTokens(built.tokens_file),
        read_context_model(built.context_file),
        rows,
    )
    random = Random(seed)
    words = sorted({*built.vectors, *(f"{token}s" for token in built.vectors)})
    asked = [random.sample(words, PHRASES) for _ in range(requests)]
    began = perf_counter()
    for phrases in asked:
        await candidates_from_phrases(searched, phrases, allow_nsfw_tags=False, per_phrase_k=10)
    return requests / (perf_counter() - began)


async def _search_ms(database: Database, seed: int, searches: int) -> list[float]:
    numbers = np.random.default_rng(seed)
    drawn = numbers.standard_normal((MANY_TAGS, 100)).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    vectors = {f"tag_{number}": row for number, row in enumerate(drawn)}
    models = BuiltModels(
        name="random", dimension=100, vectors=vectors, context_rows={}, tokens_file=b"", context_file=b""
    )
    tags = Vocabulary(tags=tuple(Tag(name=name, count=1) for name in vectors), aliases={})
    async with database.connection() as connection:
        vocabulary_id = await vocabularies.keep(connection, "large", tags)
        await vocabularies.keep_models(connection, vocabulary_id, models)
        await connection.execute("VACUUM ANALYZE tag_vector")
    stored = PostgresVocabularies(database)
    taken = []
    for _ in range(searches):
        queries = [(f"word_{place}", drawn[numbers.integers(MANY_TAGS)]) for place in range(PHRASES)]
        began = perf_counter()
        await stored.nearest(vocabulary_id, queries, limit=10)
        taken.append((perf_counter() - began) * 1000)
    return taken
