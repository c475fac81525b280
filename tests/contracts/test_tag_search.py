"""The contract of every TagLexicon and NeighbourSearch, for the fake and for Postgres."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

import numpy as np
import pytest

from schemas.errors import EmbeddingDimensionMismatchError, VocabularyError, VocabularyMissingError
from schemas.values.tags import Lexicon, NearToken, Tag, Vocabulary
from stages.ports import NeighbourSearch, TagLexicon, TokenQuery, Vector
from stages.tags.similarity import BuiltModels, TokenModel
from store import vocabularies
from store.database import Database
from store.vocabularies import PostgresVocabularies
from tests.fakes.tags import InMemoryVocabulary, unit
from tests.stages.tags.builders import at
from workers.tag_models import TagModels

SHIRT = Tag(name="shirt", category="0", count=90, nsfw_probability=0.25)
HAT = Tag(name="hat", category="7", count=None)
BOTH = Tag(name="both", count=1)
ALIASES = {"tee": ("shirt",), "wear": ("hat", "shirt"), "both": ("hat",)}


class Searched(TagLexicon, NeighbourSearch, Protocol):
    """A vocabulary that is looked up and searched."""


class InPostgres(PostgresVocabularies):
    """The real ones: looked up in Postgres, and searched in memory."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.nearest = TagModels(database).nearest


Stored: TypeAlias = Callable[[dict[str, Vector]], Awaitable[tuple[int, Searched]]]
"""Gives a vocabulary of three tags with these vectors, and its id."""


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.servers)])
def stored(request: pytest.FixtureRequest) -> Stored:
    tags = (SHIRT, HAT, BOTH)
    if request.param == "memory":

        async def in_memory(vectors: dict[str, Vector]) -> tuple[int, Searched]:
            return 1, InMemoryVocabulary({tag.name: tag for tag in tags}, ALIASES, vectors)

        return in_memory
    database: Database = request.getfixturevalue("database")

    async def in_postgres(vectors: dict[str, Vector]) -> tuple[int, Searched]:
        async with database.connection() as connection:
            vocabulary_id = await vocabularies.keep(connection, "clothes", Vocabulary(tags=tags, aliases=ALIASES))
            if vectors:
                await vocabularies.keep_models(connection, vocabulary_id, built(vectors))
        return vocabulary_id, InPostgres(database)

    return in_postgres


def built(vectors: dict[str, Vector], **rows: Vector) -> BuiltModels:
    """Models with these vectors and context rows alone."""
    dimension = len(next(iter(vectors.values())))
    return BuiltModels(
        tokens=TokenModel("given", dimension, vectors, b"tokens"),
        context_rows=rows,
        context_file=b"context",
    )


async def test_tags_aliases_and_their_targets_are_looked_up(stored: Stored) -> None:
    vocabulary_id, searched = await stored({})

    assert await searched.look_up(vocabulary_id, ["wear", "nobody", "both"]) == Lexicon(
        tags={"both": BOTH, "hat": HAT, "shirt": SHIRT}, aliases={"both": ("hat",), "wear": ("hat", "shirt")}
    )
    assert await searched.look_up(vocabulary_id, ["nobody"]) == Lexicon(tags={}, aliases={})


async def test_similarity_is_the_raw_cosine_best_first(stored: Stored) -> None:
    vocabulary_id, searched = await stored({"hat": at(180), "shirt": at(60), "tee": at(0), "both": at(90)})

    (found,) = await searched.nearest(vocabulary_id, [TokenQuery("word", at(0))], limit=9)

    assert [near.token for near in found] == ["tee", "shirt", "both", "hat"]
    np.testing.assert_allclose([near.similarity for near in found], [1, 0.5, 0, -1], atol=1e-6)


async def test_equally_near_tokens_are_ordered_by_name_before_the_limit_counts(stored: Stored) -> None:
    tokens = ["b", "a", "B", "a-b", "ab", "á", "_"]
    vocabulary_id, searched = await stored(dict.fromkeys(tokens, at(0)))

    (found,) = await searched.nearest(vocabulary_id, [TokenQuery("word", at(0))], limit=6)

    assert [near.token for near in found] == sorted(tokens)[:6]


async def test_a_token_is_no_neighbour_of_itself(stored: Stored) -> None:
    vocabulary_id, searched = await stored({"shirt": at(0), "tee": at(0)})

    found = await searched.nearest(vocabulary_id, [TokenQuery("tee", at(0)), TokenQuery("shirt", at(0))], limit=1)

    assert found == [(NearToken(token="shirt", similarity=1.0),), (NearToken(token="tee", similarity=1.0),)]


async def test_nothing_asked_is_nothing_found(stored: Stored) -> None:
    _, searched = await stored({})

    assert await searched.nearest(99, [], limit=1) == []
    assert await searched.look_up(99, []) == Lexicon(tags={}, aliases={})


async def test_a_missing_vocabulary_is_named(stored: Stored) -> None:
    _, searched = await stored({"shirt": at(0)})

    with pytest.raises(VocabularyMissingError, match="Vocabulary 99 is not stored"):
        await searched.nearest(99, [TokenQuery("word", at(0))], limit=1)
    with pytest.raises(VocabularyMissingError, match="Vocabulary 99 is not stored"):
        await searched.look_up(99, ["word"])


async def test_a_vocabulary_without_vectors_cannot_be_searched(stored: Stored) -> None:
    vocabulary_id, searched = await stored({})

    with pytest.raises(VocabularyError, match="has no"):
        await searched.nearest(vocabulary_id, [TokenQuery("word", at(0))], limit=1)


async def test_a_query_of_another_dimension_is_refused(stored: Stored) -> None:
    vocabulary_id, searched = await stored({"shirt": at(0)})

    with pytest.raises(EmbeddingDimensionMismatchError, match="Expected vectors of 2 dimensions, got 3"):
        await searched.nearest(vocabulary_id, [TokenQuery("word", unit(1, 0, 0))], limit=1)
