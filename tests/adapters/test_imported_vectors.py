"""Vectors that were trained elsewhere, in every layout."""

from pathlib import Path

import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors  # type: ignore[import-untyped]
from gensim.models.fasttext import save_facebook_model  # type: ignore[import-untyped]

from adapters.tag_models import FastTextTokens, imported_vectors
from schemas.errors import Refused
from schemas.values.tags import VectorLayout
from tests.stages.tags.clothes import CLOTHES

WORD2VEC = pytest.mark.parametrize("layout", [VectorLayout.WORD2VEC_TEXT, VectorLayout.WORD2VEC_BINARY])


def word2vec(path: Path, layout: VectorLayout, **rows: list[float]) -> Path:
    table = KeyedVectors(3)
    table.add_vectors(list(rows), np.array(list(rows.values()), dtype=np.float32))
    table.save_word2vec_format(str(path), binary=layout is VectorLayout.WORD2VEC_BINARY)
    return path


@WORD2VEC
def test_a_table_gives_the_vectors_of_the_vocabulary_at_length_1(tmp_path: Path, layout: VectorLayout) -> None:
    path = word2vec(tmp_path / "table", layout, shirt=[3, 4, 0], tshirt=[0, 0, 2], sofa=[1, 1, 1], hat=[0, 0, 0])

    found = imported_vectors(path, layout, CLOTHES)

    assert (found.name, found.dimension) == (layout.value, 3)
    assert list(found.vectors) == ["shirt", "tshirt"]
    np.testing.assert_allclose(found.vectors["shirt"], [0.6, 0.8, 0], atol=1e-6)
    assert list(FastTextTokens(found.file).vectors_of(["shirt", "shirts", "sofa"])) == ["shirt"]


def test_a_fasttext_file_gives_vectors_for_unknown_words(tmp_path: Path) -> None:
    lists = [list(document.tags) for document in CLOTHES.documents]
    model = FastText(sentences=lists, vector_size=8, min_count=1, bucket=300, epochs=1, seed=1, workers=1)
    save_facebook_model(model, str(tmp_path / "model.bin"))

    found = imported_vectors(tmp_path / "model.bin", VectorLayout.FASTTEXT, CLOTHES)

    exact = model.wv.get_vector("trousers", norm=True)
    np.testing.assert_allclose(found.vectors["trousers"], exact, atol=1e-6)
    unheard = FastTextTokens(found.file).vectors_of(["trousersx"])["trousersx"]
    assert float(unheard @ exact) > 0.5


@pytest.mark.parametrize("layout", VectorLayout)
def test_a_file_of_another_layout_is_refused(tmp_path: Path, layout: VectorLayout) -> None:
    (tmp_path / "other").write_bytes(b"this is\nno file of vectors\n")

    with pytest.raises(Refused, match=f"cannot be read as {layout.value}"):
        imported_vectors(tmp_path / "other", layout, CLOTHES)
    with pytest.raises(Refused, match=f"cannot be read as {layout.value}"):
        imported_vectors(tmp_path / "absent", layout, CLOTHES)


@pytest.mark.parametrize("layout", list(VectorLayout))
@pytest.mark.parametrize("start", [b"\x80\x04", b"\x80\x02}q", b"x\x9c"])
def test_a_pickle_is_refused_before_anything_reads_it(tmp_path: Path, layout: VectorLayout, start: bytes) -> None:
    (tmp_path / "model.bin").write_bytes(start + b"anything")

    with pytest.raises(Refused, match="ragq reads none"):
        imported_vectors(tmp_path / "model.bin", layout, CLOTHES)
