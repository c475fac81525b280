"""The contract of every TextEncoder. New ones are added to the list."""

from functools import partial

import numpy as np
import pytest

from adapters.local_models import SentenceTransformerEncoder
from adapters.weights import PACKAGED_EMBEDDER
from stages.ports import TextEncoder, Vectors
from tests.fakes.encoder import FakeEncoder

TEXTS = ["I wake up at four every night.", "We went fishing.", ""]
ROUNDING = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
"""How far two rows of one text may lie apart, as a share of their length, by number format.

Measured with the packaged model: in float32 rows of texts are within 1e-6 of those that the same weights give in
float64, on every set of instructions that oneDNN, MKL and torch were held to. Two
rows of one text lay 7e-4 apart in float16, and 8e-3 in bfloat16.
"""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(FakeEncoder, id="fake"),
        *(
            pytest.param(
                partial(SentenceTransformerEncoder, PACKAGED_EMBEDDER, dtype=dtype, threads=1),
                id=f"sentence-transformers in {dtype}",
                marks=pytest.mark.servers,
            )
            for dtype in ROUNDING
        ),
    ],
)
def encoder(request: pytest.FixtureRequest) -> TextEncoder:
    made: TextEncoder = request.param()
    return made


def test_there_is_one_float32_row_per_text(encoder: TextEncoder) -> None:
    matrix = encoder.encode(TEXTS)
    assert (matrix.ndim, len(matrix), matrix.dtype.name) == (2, 3, "float32")
    assert np.isfinite(matrix).all()


def test_rows_keep_the_order_of_the_texts(encoder: TextEncoder) -> None:
    matrix = encoder.encode(TEXTS)
    assert_same_rows(encoder.encode(TEXTS[::-1]), matrix[::-1], ROUNDING[encoder.dtype])
    assert np.linalg.norm(matrix[0] - matrix[1]) > 10 * ROUNDING[encoder.dtype]


def test_a_row_depends_on_its_text_alone_but_for_rounding(encoder: TextEncoder) -> None:
    texts = [" ".join(["I sleep badly."] * times) for times in (1, 2, 3, 5, 8, 13, 21)]

    together = encoder.encode([*texts, *TEXTS])

    alone = np.vstack([encoder.encode([text]) for text in texts])
    assert_same_rows(together[: len(texts)], alone, ROUNDING[encoder.dtype])


def test_who_shares_a_pass_does_not_change_what_is_nearest(encoder: TextEncoder) -> None:
    texts = [
        f"{subject} {doing}" for subject in ("She sleeps", "The train left") for doing in ("well", "late", "alone")
    ]
    # Coarser formats tell fewer texts apart.
    texts = texts if encoder.dtype == "float32" else texts[1:5:3]
    (query,) = encoder.encode(["I lie awake at night."])

    similarities = [row @ query for row in encoder.encode([*TEXTS, *texts])[len(TEXTS) :]]
    alone = [row @ query for text in texts for row in encoder.encode([text])]

    assert min(np.diff(sorted(similarities))) > 2 * ROUNDING[encoder.dtype]
    assert np.argsort(similarities).tolist() == np.argsort(alone).tolist()


def test_a_text_beyond_the_limit_is_cut(encoder: TextEncoder) -> None:
    long, longer = "word " * 300, "word " * 400
    (tokens,) = encoder.count_whole_tokens([long])
    assert encoder.count_whole_tokens([longer]) == [tokens + 100]
    assert encoder.max_tokens is not None and tokens > encoder.max_tokens
    assert_same_rows(encoder.encode([long]), encoder.encode([longer]), ROUNDING[encoder.dtype])


def test_texts_of_one_length_share_a_forward_pass_and_no_text_takes_none(encoder: TextEncoder) -> None:
    before = encoder.forward_passes
    encoder.encode([])
    assert encoder.forward_passes == before
    encoder.encode(["We went fishing."] * 9)
    assert encoder.forward_passes == before + 1


def assert_same_rows(some: Vectors, others: Vectors, bound: float) -> None:
    apart = np.linalg.norm(some.astype(np.float64) - others, axis=1)
    assert (apart <= bound * np.linalg.norm(others, axis=1)).all(), apart.max()
