"""The corpora that searches are measured on."""

import numpy as np

from benchmarks.search import DIMENSION, WORDS_PER_CHUNK, WORDS_PER_QUERY, made_up


def test_generated_corpora_are_the_same_every_time() -> None:
    first, second = made_up(30, 4), made_up(30, 4)

    assert (first.texts, first.queries) == (second.texts, second.queries)
    np.testing.assert_array_equal(first.vectors, second.vectors)


def test_a_query_is_near_the_chunk_whose_words_it_has() -> None:
    made = made_up(30, 4)

    cosines = made.query_vectors @ made.vectors.T / np.linalg.norm(made.vectors, axis=1)
    nearest = [made.texts[place].split() for place in cosines.argmax(axis=1)]
    assert all(set(query.split()) <= set(words) for query, words in zip(made.queries, nearest, strict=True))
    assert [len(query.split()) for query in made.queries] == [WORDS_PER_QUERY] * 4
    assert {len(text.split()) for text in made.texts} == {WORDS_PER_CHUNK}
    assert made.vectors.shape == (30, DIMENSION)
