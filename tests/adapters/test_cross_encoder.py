import math
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.local_models import CrossEncoderScorer
from adapters.weights import embedder_folder
from schemas.errors import FailureCategory, LLMTimeoutError
from tests.adapters.conftest import Closing
from tests.adapters.tiny_cross_encoder import tiny_cross_encoder
from tests.refusals import failing

pytestmark = pytest.mark.servers

QUERY = "i sleep badly"
PASSAGES = [" ".join(["every night we went fishing"] * times) for times in (1, 7, 2, 6, 3, 5, 4, 9, 8, 10)]
Scoring = Callable[[Path | str], CrossEncoderScorer]


@pytest.fixture
def scoring(closing: Closing) -> Scoring:
    """Makes scorers of a folder."""
    return lambda folder: closing(CrossEncoderScorer(str(folder), threads=1))


async def test_scores_are_the_raw_logits_of_the_model(scoring: Scoring, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    scorer = scoring(tiny_cross_encoder(tmp_path))

    logits = await scorer.score_pairs(QUERY, PASSAGES, timeout_s=60, batch_size=8, max_tokens=512)

    model = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    with torch.inference_mode():
        expected = [float(model(**tokenizer(QUERY, passage, return_tensors="pt")).logits) for passage in PASSAGES]
    assert logits == pytest.approx(expected, abs=1e-3)
    assert not all(0 <= logit <= 1 for logit in logits)


async def test_a_pair_is_cut_at_the_tokens_asked_for(scoring: Scoring, tmp_path: Path) -> None:
    scorer = scoring(tiny_cross_encoder(tmp_path))
    beyond = ["word " * 600, "word " * 700]

    cut, cut_the_same = await scorer.score_pairs(QUERY, beyond, timeout_s=60, batch_size=8, max_tokens=512)
    (shorter,) = await scorer.score_pairs(QUERY, beyond[:1], timeout_s=60, max_tokens=64, batch_size=8)

    assert cut == pytest.approx(cut_the_same, abs=1e-3)
    assert shorter != pytest.approx(cut, abs=1e-3)


async def test_a_score_that_is_no_number_is_an_error_that_quotes_nothing(scoring: Scoring, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    weights = tiny_cross_encoder(tmp_path) / "model.safetensors"
    tensors = load_file(weights)
    save_file({**tensors, "classifier.bias": torch.tensor([math.nan])}, weights, metadata={"format": "pt"})

    with failing(FailureCategory.RERANK_ERROR, "gave 10 of 10 scores that are not finite numbers") as caught:
        await scoring(tmp_path).score_pairs(QUERY, PASSAGES, timeout_s=60, batch_size=8, max_tokens=512)
    assert "fishing" not in repr(caught.value)


async def test_a_model_without_a_ranking_head_is_refused(scoring: Scoring) -> None:
    with failing(FailureCategory.RERANK_ERROR, r"is not a cross-encoder: .*BertModel"):
        await scoring(embedder_folder()).score_pairs(QUERY, PASSAGES, timeout_s=60, batch_size=8, max_tokens=512)


class SlowBatches:
    """Stands for a model whose batch takes `seconds`; lists the query and the number of passages of each."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.batches: list[tuple[str, int]] = []

    def __call__(self, pairs: list[tuple[str, str]], max_tokens: int) -> list[float]:
        self.batches.append((pairs[0][0], len(pairs)))
        time.sleep(self.seconds)
        return [0.0] * len(pairs)


async def test_a_batch_whose_caller_timed_out_is_the_only_one_that_the_next_caller_waits_for(
    scoring: Scoring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer, model = scoring(tmp_path), SlowBatches(0.3)
    monkeypatch.setattr(scorer, "_score", model)
    with pytest.raises(LLMTimeoutError):
        await scorer.score_pairs("late", PASSAGES, timeout_s=0.1, batch_size=4, max_tokens=512)

    logits = await scorer.score_pairs("next", PASSAGES[:1], timeout_s=0.4, batch_size=1, max_tokens=512)

    assert (logits, model.batches) == ([0.0], [("late", 4), ("next", 1)])
