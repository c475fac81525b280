"""The contract of every TokenVectors. New ones are added to the list."""

import numpy as np
import pytest

from adapters.tag_models import FastTextTokens, TagModelBuilder
from stages.ports import TokenVectors
from tests.fakes.tags import FakeTokenVectors, unit
from tests.stages.tags.clothes import CLOTHES


def fasttext() -> TokenVectors:
    return FastTextTokens(TagModelBuilder(dimension=8, buckets=200, epochs=1).build(CLOTHES, seed=1)[0])


def fake() -> TokenVectors:
    return FakeTokenVectors({"shirt": unit(1, 0, 0, 0)}, dimension=4)


@pytest.fixture(scope="module", params=[fake, fasttext])
def tokens(request: pytest.FixtureRequest) -> TokenVectors:
    made: TokenVectors = request.param()
    return made


def test_vectors_have_length_1_and_the_stated_dimension(tokens: TokenVectors) -> None:
    found = tokens.vectors_of(["shirt", "shirts", "hat"])

    assert list(found) == ["shirt", "shirts", "hat"]
    assert {(row.shape, row.dtype.name) for row in found.values()} == {((tokens.dimension,), "float32")}
    np.testing.assert_allclose([np.linalg.norm(row) for row in found.values()], 1, atol=1e-5)


def test_a_vector_depends_on_its_token_alone(tokens: TokenVectors) -> None:
    together = tokens.vectors_of(["shirt", "shirts", "hat"])

    assert {token: row.tobytes() for token, row in together.items()} == {
        token: tokens.vectors_of([token])[token].tobytes() for token in together
    }


def test_the_empty_token_has_no_vector_and_no_token_gives_none(tokens: TokenVectors) -> None:
    assert dict(tokens.vectors_of([""])) == {}
    assert dict(tokens.vectors_of([])) == {}
