import socket
from typing import Any

import numpy as np
import pytest
from transformers import PreTrainedTokenizerBase

from adapters.local_models import SentenceTransformerEncoder, fitting_dtype
from adapters.weights import PACKAGED_EMBEDDER, PACKAGED_EMBEDDER_SHA256, embedder_folder

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


def test_texts_that_were_counted_are_not_counted_again_to_be_encoded(
    minilm: SentenceTransformerEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    minilm.encode(["warm"])
    tokenize, tokenized = PreTrainedTokenizerBase.__call__, []

    def noted(self: PreTrainedTokenizerBase, text: list[str], **options: Any) -> Any:
        tokenized.append(text)
        return tokenize(self, text, **options)

    monkeypatch.setattr(PreTrainedTokenizerBase, "__call__", noted)

    counts = minilm.count_whole_tokens(["a b", "a b c d"])
    minilm.encode(["a b c d"])

    # Once to count them, and once for the pass.
    assert (counts, tokenized) == ([4, 6], [["a b", "a b c d"], ["a b c d"]])


@pytest.mark.parametrize(
    ("device", "has", "gpu_has_bf16", "dtype"),
    [
        ("cpu", {"amx_bf16": True, "avx512_bf16": False}, False, "bfloat16"),
        ("cpu", {"amx_bf16": False, "avx512_bf16": True}, False, "bfloat16"),
        ("cpu", {"avx512_f": True}, False, "float32"),
        ("cuda", {}, True, "bfloat16"),
        ("cuda", {}, False, "float16"),
        ("mps", {"amx_bf16": True}, False, "float16"),
    ],
)
def test_auto_is_the_format_that_the_device_multiplies_fastest(
    monkeypatch: pytest.MonkeyPatch, device: str, has: dict[str, bool], gpu_has_bf16: bool, dtype: str
) -> None:
    monkeypatch.setattr("sentence_transformers.util.get_device_name", lambda: device)
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: has)
    monkeypatch.setattr("torch.cuda.is_bf16_supported", lambda including_emulation: gpu_has_bf16)

    encoder = SentenceTransformerEncoder(PACKAGED_EMBEDDER, dtype="auto")

    assert (fitting_dtype(), encoder.dtype, "_model" in vars(encoder)) == (dtype, dtype, False)


@pytest.mark.parametrize(("dtype", "cosine"), [("bfloat16", 0.9997), ("float16", 0.99999)])
def test_rows_in_a_shorter_format_are_near_those_in_float32(
    minilm: SentenceTransformerEncoder, dtype: str, cosine: float
) -> None:
    texts = ["I cannot sleep.", "Oxidation turns the leaf dark. " * 40, "a"]

    rows = SentenceTransformerEncoder(PACKAGED_EMBEDDER, dtype=dtype, threads=1).encode(texts)

    assert rows.dtype == np.float32
    cosines = (rows * minilm.encode(texts)).sum(axis=1) / np.linalg.norm(rows, axis=1)
    assert cosines.min() > cosine


def test_a_folder_is_loaded_without_any_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("the model asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert SentenceTransformerEncoder(str(embedder_folder())).encode(["a"]).shape == (1, 384)
