"""Stage `embed`: one call for all texts of a query."""

import numpy as np
import pytest

from schemas.errors import EmbeddingArtifactMismatchError, EmbeddingValidationError
from schemas.values.queries import EmbeddedQuery, Expansion, Origin, QueryText
from stages.queries.expand import no_expansion
from stages.queries.retrieve import EmbeddedTexts, embed_query
from tests.fakes.embedder import FakeEmbedder

EXPANSION = Expansion(origin=Origin.MODEL, queries=("first phrase", "second phrase"), hyde_answer="An answer.")


async def embed(
    expansion: Expansion, embedder: FakeEmbedder, *, dimension: int = 8, digest: str = "digest of fake"
) -> EmbeddedTexts:
    return await embed_query(
        "The question?", expansion, embedder=embedder, dimension=dimension, digest=digest, timeout_s=9
    )


async def test_all_texts_are_embedded_in_one_call_in_order() -> None:
    embedder = FakeEmbedder()

    embedded, vectors = await embed(EXPANSION, embedder)

    assert embedder.calls == [["The question?", "first phrase", "second phrase", "An answer."]]
    assert embedded == EmbeddedQuery(
        model="fake",
        model_digest="digest of fake",
        dimension=8,
        texts=(QueryText.ORIGINAL, QueryText.MQE, QueryText.MQE, QueryText.HYDE),
        dtype="float32",
    )
    assert vectors.shape == (4, 8)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)


async def test_without_expansion_the_question_alone_is_embedded() -> None:
    embedder = FakeEmbedder()

    embedded, _ = await embed(no_expansion(), embedder)

    assert (embedder.calls, embedded.texts) == ([["The question?"]], (QueryText.ORIGINAL,))


async def test_other_weights_than_the_corpus_was_embedded_with_are_refused_without_a_call() -> None:
    embedder = FakeEmbedder()

    with pytest.raises(EmbeddingArtifactMismatchError, match="weights abcdef, and model 'fake' now has digest of fa"):
        await embed(EXPANSION, embedder, digest="abcdef")

    assert embedder.calls == []


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 0.0])
async def test_a_vector_that_points_nowhere_is_an_error(number: float) -> None:
    with pytest.raises(EmbeddingValidationError):
        await embed(EXPANSION, FakeEmbedder(lambda text: [number] * 8))
