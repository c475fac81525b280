"""The speed of finding tags for phrases, in one process over a real Postgres."""

import asyncio
from collections.abc import Collection, Mapping
from random import Random
from statistics import median, quantiles
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adapters.tag_models import FastTextTokens, TagModelBuilder, read_context_model, similarity_file
from schemas.values.tags import Tag, Vocabulary
from stages.tags.candidates import SearchedVocabulary, candidates_from_phrases
from stages.tags.models import BuiltModels, SentenceModel
from stages.tags.ports import TokenQuery, Vector
from store.database import Database
from store.vectors import to_pgvector
from store.vocabularies import built_models, vocabularies
from store.vocabularies.contents import PostgresVocabularies
from workers.tag_models import TagModels

PHRASES = 5
"""Phrases of a request, which heads are added to."""

MANY_TAGS = 100_000

SENTENCE = 384
"""Numbers of a sentence vector."""


class Times(NamedTuple):
    """Milliseconds for the neighbours of PHRASES words among MANY_TAGS tokens."""

    p50: float
    p95: float


class Speed(NamedTuple):
    """The measurements."""

    chains_per_s: float
    """Requests of PHRASES phrases by FastText alone, from embed to validate, one after the other."""
    scan: Times
    """An exact scan by Postgres of the vectors of FastText, as before there was a search in memory."""
    original: Times
    """The same in memory."""
    fused: Times
    """All sources, in memory."""
    loading_s: float
    """The first search, which loads the index."""

    def sentence(self) -> str:
        """The measurements in words."""
        times = ", ".join(
            f"{name} p50 {found.p50:.1f} ms and p95 {found.p95:.1f} ms"
            for name, found in (("Postgres", self.scan), ("FastText in memory", self.original), ("fused", self.fused))
        )
        return (
            f"whole chain: {self.chains_per_s:.1f} sets of {PHRASES} phrases a second; neighbours of {PHRASES} words "
            f"among {MANY_TAGS} tokens, in turns: {times}; loading {self.loading_s:.1f} s"
        )


def measure(database_url: str, vocabulary: Vocabulary, *, seed: int, requests: int, searches: int) -> Speed:
    """The rate of the whole chain on a vocabulary, and of searching a large one of random vectors."""
    return asyncio.run(_measure(database_url, vocabulary, seed, requests, searches))


async def _measure(database_url: str, vocabulary: Vocabulary, seed: int, requests: int, searches: int) -> Speed:
    database = Database(database_url)
    try:
        chains = await _chains_per_s(database, vocabulary, seed, requests)
        scan, original, fused, loading_s = await _search_ms(database, seed, searches)
    finally:
        await database.close()
    return Speed(chains, scan, original, fused, loading_s)


async def _chains_per_s(database: Database, vocabulary: Vocabulary, seed: int, requests: int) -> float:
    built = TagModelBuilder(epochs=1).build(vocabulary, seed=seed)
    async with database.connection() as connection:
        vocabulary_id = await vocabularies.keep(connection, "measured", vocabulary)
        await built_models.keep(connection, vocabulary_id, built)
        await connection.execute("ANALYZE")
    stored = PostgresVocabularies(database)

    async def rows(tags: Collection[str]) -> Mapping[str, Vector]:
        async with database.connection() as connection:
            return await built_models.context_rows(connection, vocabulary_id, tags)

    searched = SearchedVocabulary(
        vocabulary_id,
        stored,
        TagModels(database),
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


# The statement that searched before: one exact scan per word.
SCAN = """
SELECT n.token FROM unnest($2::text[], $3::vector[]) WITH ORDINALITY AS q (token, vector, ordinal)
CROSS JOIN LATERAL (
    SELECT v.token, v.vector <=> q.vector AS distance FROM tag_vector AS v
    WHERE v.vocabulary_id = $1 AND v.token <> q.token
    ORDER BY v.vector <=> q.vector, v.token COLLATE "C" LIMIT $4
) AS n ORDER BY q.ordinal, n.distance, n.token COLLATE "C"
"""


async def _search_ms(database: Database, seed: int, searches: int) -> tuple[Times, Times, Times, float]:
    numbers, random = np.random.default_rng(seed), Random(seed)
    syllables = [a + b for a in "bcdfglmnprstv" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]
    words = sorted({"".join(random.choices(syllables, k=random.randint(1, 4))) for _ in range(30_000)})
    names = sorted({"_".join(random.choices(words, k=random.randint(1, 3))) for _ in range(2 * MANY_TAGS)})
    names = sorted(random.sample(names, MANY_TAGS))
    drawn = _unit(numbers.standard_normal((MANY_TAGS, 100)))
    sentences = _unit(numbers.standard_normal((MANY_TAGS, SENTENCE)))
    models = BuiltModels(
        name="random",
        dimension=100,
        vectors=dict(zip(names, drawn, strict=True)),
        context_rows={},
        tokens_file=b"",
        context_file=b"",
        similarity_file=similarity_file(names, sentences),
        sentences=SentenceModel("huggingface", "random", ""),
    )
    tags = Vocabulary(tags=tuple(Tag(name=name, count=1) for name in names), aliases={})
    async with database.connection() as connection:
        vocabulary_id = await vocabularies.keep(connection, "large", tags)
        await built_models.keep(connection, vocabulary_id, models)
        await connection.execute("VACUUM ANALYZE tag_vector")
    search = TagModels(database)
    taken: dict[str, list[float]] = {"scan": [], "original": [], "fused": []}
    loading_s = 0.0
    for number in range(searches + 1):
        rows = numbers.integers(MANY_TAGS, size=PHRASES)
        asked = [f"{names[row]}{random.choice(syllables)}" for row in rows]
        began = perf_counter()
        async with database.connection() as connection:
            await connection.fetch(SCAN, vocabulary_id, asked, to_pgvector(drawn[rows]), 10)
        of_scan = perf_counter()
        original = [TokenQuery(word, drawn[row]) for word, row in zip(asked, rows, strict=True)]
        await search.nearest(vocabulary_id, original, limit=10)
        of_original = perf_counter()
        fused = [TokenQuery(word, drawn[row], sentences[row]) for word, row in zip(asked, rows, strict=True)]
        await search.nearest(vocabulary_id, fused, limit=10)
        of_fused = perf_counter()
        if number == 0:
            loading_s = of_fused - of_original
            continue
        taken["scan"].append(1000 * (of_scan - began))
        taken["original"].append(1000 * (of_original - of_scan))
        taken["fused"].append(1000 * (of_fused - of_original))
    scan, original_times, fused_times = (Times(median(one), quantiles(one, n=20)[-1]) for one in taken.values())
    return scan, original_times, fused_times, loading_s


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)
