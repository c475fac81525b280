"""Chunks as one vector per token."""

import numpy as np
import pytest

from schemas.errors import EmbeddingDimensionMismatchError, EmbeddingValidationError
from stages.corpora.embed_tokens import embed_chunk_tokens
from stages.ports import Vectors
from tests.fakes.embedder import FakeTokenEmbedder
from tests.stages.corpora.test_embed import chunk

CHUNKS = [chunk(1, "Tea > Brewing"), chunk(2, None)]


@pytest.mark.parametrize("embeds_headings", [True, False])
async def test_the_text_that_is_embedded_is_that_of_the_vector_index(embeds_headings: bool) -> None:
    embedder = FakeTokenEmbedder()

    found = await embed_chunk_tokens(
        CHUNKS, embedder=embedder, dimension=8, embeds_headings=embeds_headings, timeout_s=30
    )

    (asked,) = embedder.calls
    assert ("Tea > Brewing\n" in asked[0]) is embeds_headings
    assert [len(tokens) for tokens in found] == [len(text.split()) for text in asked]


async def test_rows_are_cut_to_the_dimension_of_the_corpus_and_have_length_1() -> None:
    (tokens, _) = await embed_chunk_tokens(
        CHUNKS, embedder=FakeTokenEmbedder(), dimension=3, embeds_headings=True, timeout_s=30
    )

    assert tokens.shape[1] == 3
    np.testing.assert_allclose(np.linalg.norm(tokens, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("row", "dimension", "error"),
    [
        (np.full((1, 8), np.nan, dtype=np.float32), 8, EmbeddingValidationError),
        (np.ones((1, 8), dtype=np.float32), 9, EmbeddingDimensionMismatchError),
    ],
)
async def test_vectors_that_cannot_be_used_are_an_error(row: Vectors, dimension: int, error: type[Exception]) -> None:
    embedder = FakeTokenEmbedder(lambda _: row)

    with pytest.raises(error):
        await embed_chunk_tokens(CHUNKS, embedder=embedder, dimension=dimension, embeds_headings=True, timeout_s=30)
