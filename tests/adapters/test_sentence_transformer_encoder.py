import hashlib
import socket
from pathlib import Path

import numpy as np
import pytest

from adapters.packaged import PACKAGED_EMBEDDER, PACKAGED_EMBEDDER_SHA256, embedder_folder
from adapters.sentence_transformer_encoder import SentenceTransformerEncoder

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformerEncoder:
    return SentenceTransformerEncoder(PACKAGED_EMBEDDER, threads=1)


def test_the_packaged_model_gives_unit_rows_of_384(minilm: SentenceTransformerEncoder) -> None:
    matrix = minilm.encode(["I cannot sleep.", "Sleep does not come.", "The train was late."])
    assert matrix.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-5)
    assert matrix[0] @ matrix[1] > matrix[0] @ matrix[2]


def test_the_digest_of_one_weight_file_is_its_sha256(minilm: SentenceTransformerEncoder) -> None:
    assert minilm.digest == PACKAGED_EMBEDDER_SHA256


def test_tokens_are_counted_before_the_cut(minilm: SentenceTransformerEncoder) -> None:
    # [CLS] a b [SEP] are 4; 300 words are 302, of which the model sees 256.
    assert minilm.count_whole_tokens(["a b", "word " * 300]) == [4, 302]
    assert minilm.max_tokens == 256


def test_a_folder_is_loaded_without_any_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("the model asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert SentenceTransformerEncoder(str(embedder_folder())).encode(["a"]).shape == (1, 384)


def test_several_weight_files_have_one_digest_over_names_and_sums(tmp_path: Path) -> None:
    sums = {}
    for name in ("a.safetensors", "b.safetensors"):
        (tmp_path / name).write_bytes(name.encode())
        sums[name] = hashlib.sha256(name.encode()).hexdigest()
    listed = "".join(f"{digest}  {name}\n" for name, digest in sums.items())
    assert SentenceTransformerEncoder(str(tmp_path)).digest == hashlib.sha256(listed.encode()).hexdigest()


def test_a_folder_without_weights_has_no_digest(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"has no \*\.safetensors"):
        _ = SentenceTransformerEncoder(str(tmp_path)).digest
