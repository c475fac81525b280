"""The models of a vocabulary: the same bytes from the same seed, and plausible similarities."""

import os
import subprocess
import sys

import numpy as np
import pytest

from adapters.tag_models import FastTextTokens, TagModelBuilder, read_context_model
from stages.tags.similarity import BuiltModels, context_score, context_vector
from tests.stages.tags.clothes import CLOTHES

pytestmark = pytest.mark.servers

BUILDER = TagModelBuilder(dimension=16, buckets=500, epochs=3, components=4)


@pytest.fixture(scope="module")
def models() -> BuiltModels:
    return BUILDER.build(CLOTHES, seed=7)


def test_every_tag_and_alias_has_a_vector_of_length_1(models: BuiltModels) -> None:
    assert sorted(models.tokens.vectors) == sorted({*(tag.name for tag in CLOTHES.tags), *CLOTHES.aliases})
    assert {row.shape for row in models.tokens.vectors.values()} == {(16,)}
    np.testing.assert_allclose([np.linalg.norm(row) for row in models.tokens.vectors.values()], 1, atol=1e-5)


def test_the_file_gives_the_vectors_that_are_searched(models: BuiltModels) -> None:
    tokens = FastTextTokens(models.tokens.file)

    found = tokens.vectors_of(list(models.tokens.vectors))

    assert (tokens.name, tokens.dimension) == (models.tokens.name, models.tokens.dimension)
    assert {token: row.tobytes() for token, row in found.items()} == {
        token: row.tobytes() for token, row in models.tokens.vectors.items()
    }


def test_the_vector_of_a_misspelt_word_is_near_that_of_the_word(models: BuiltModels) -> None:
    tokens = FastTextTokens(models.tokens.file)

    (misspelt,) = tokens.vectors_of(["trousrs"]).values()

    nearest = max(models.tokens.vectors, key=lambda token: float(models.tokens.vectors[token] @ misspelt))
    assert nearest in {"trousers", "trouser"}


def test_tags_that_occur_together_are_near_in_context_and_others_are_not(models: BuiltModels) -> None:
    model = read_context_model(models.context_file)

    context = context_vector(model, {"shirt": 1.0})

    assert context is not None
    scores = {tag: context_score(context, row) or 0 for tag, row in models.context_rows.items()}
    assert min(scores["trousers"], scores["hat"]) > 0.5
    assert max(scores["apple"], scores["pear"], scores["plum"]) < 0.1
    assert "fig" not in scores


PROGRAM = """
import hashlib
from tests.adapters.test_tag_models import BUILDER, CLOTHES
models = BUILDER.build(CLOTHES, seed=7)
print(hashlib.sha256(models.tokens.file).hexdigest(), hashlib.sha256(models.context_file).hexdigest())
"""


def test_another_process_builds_the_same_bytes_whatever_its_hash_seed() -> None:
    digests = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]

    assert digests[0] == digests[1]
    assert len(digests[0].split()) == 2
