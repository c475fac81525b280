"""The models of a vocabulary: the same bytes from the same seed, and plausible similarities."""

import hashlib
import io
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from adapters.tag_models import build_tag_models, packed, read_context_model, read_token_model, unpacked
from schemas.errors import FailureCategory
from stages.ports import TokenQuery
from stages.tags.similarity import context_score, context_vector
from tests.refusals import failing
from tests.stages.tags.clothes import CLOTHES

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def files() -> tuple[bytes, bytes]:
    return build_tag_models(CLOTHES)


def test_every_tag_and_alias_has_a_vector_of_length_1_and_a_misspelt_word_one_near(files: tuple[bytes, bytes]) -> None:
    tokens = read_token_model(files[0])

    assert list(tokens.tokens) == sorted({*(tag.name for tag in CLOTHES.tags), *CLOTHES.aliases})
    assert (tokens.name, tokens.vectors.shape) == ("fasttext", (12, 100))
    np.testing.assert_allclose(np.linalg.norm(tokens.vectors, axis=1), 1, atol=1e-5)
    found = tokens.vectors_of(["shirt", "trousrs", "hat", ""])
    assert list(found) == ["shirt", "trousrs", "hat"]
    assert {(row.shape, row.dtype.name) for row in found.values()} == {((100,), "float32")}
    np.testing.assert_allclose([np.linalg.norm(row) for row in found.values()], 1, atol=1e-5)
    (misspelt,) = tokens.vectors_of(["trousrs"]).values()
    assert misspelt.tobytes() == found["trousrs"].tobytes(), "a vector depends on its token alone"
    assert tokens.vectors_of([]) == {}
    (nearest,) = tokens.nearest([TokenQuery("trousrs", misspelt)], 1)
    assert nearest[0].alias_token in {"trousers", "trouser"}


def test_tags_that_occur_together_are_near_in_context_and_others_are_not(files: tuple[bytes, bytes]) -> None:
    model = read_context_model(files[1])

    context = context_vector(model, {"shirt": 1.0})

    assert context is not None
    names = [tag.name for tag in CLOTHES.tags]
    scores = {tag: context_score(context, row) or 0 for tag, row in model.rows_of(names).items()}
    assert min(scores["trousers"], scores["hat"]) > 0.5
    assert max(scores["apple"], scores["pear"], scores["plum"]) < 0.1
    assert "fig" not in scores


PROGRAM = """
import hashlib
from tests.adapters.test_tag_models import CLOTHES, build_tag_models
print(*(hashlib.sha256(file).hexdigest() for file in build_tag_models(CLOTHES)))
"""


def test_a_process_with_another_hash_seed_builds_the_same_bytes(files: tuple[bytes, bytes]) -> None:
    there = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    here = [hashlib.sha256(file).hexdigest() for file in files]
    assert there.split() == here


ARRAYS: dict[str, NDArray[Any]] = {"rows": np.arange(6, dtype=np.float32).reshape(2, 3), "none": np.empty((0, 3))}


def test_unpacked_arrays_are_equal_and_pack_to_the_same_bytes() -> None:
    arrays, description = unpacked(packed(ARRAYS, {"b": "ü", "a": [1]}))

    assert description == {"a": [1], "b": "ü"}
    assert {name: array.tolist() for name, array in arrays.items()} == {"rows": [[0, 1, 2], [3, 4, 5]], "none": []}
    assert packed(arrays, {"a": [1], "b": "ü"}) == packed(ARRAYS, {"b": "ü", "a": [1]})


def with_pickle() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, description=np.array([{"a": 1}], dtype=object))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [b"", b"not a zip file", packed(ARRAYS, {})[:-30], pickle.dumps([1]), with_pickle()],
    ids=["empty", "text", "cut", "pickle", "pickled array"],
)
def test_other_bytes_are_refused_and_nothing_is_unpickled(data: bytes) -> None:
    with failing(FailureCategory.VOCABULARY_UNUSABLE, "cannot be read"):
        unpacked(data)
