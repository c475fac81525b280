from typing import Any

import pytest

from schemas.values.phq8 import PHQ8Item
from stages.participants.original_results import OriginalRun, parse_original_run
from tests.original_results import SIGNALS, experiment, failed, items, results_file, subject


def parse(*results: dict[str, Any], **stated: Any) -> OriginalRun:
    parsed = parse_original_run(results_file(experiment("few_shot", *results, **stated)), file="f.json")
    assert parsed.value is not None, parsed.problems
    return parsed.value


def found(data: bytes) -> list[str]:
    parsed = parse_original_run(data, file="f.json")
    assert parsed.value is None
    return [
        str(problem).removesuffix("; name a results file of ai-psychiatrist as it was written (data/outputs/*.json)")
        for problem in parsed.problems
    ]


def test_scores_and_every_signal_are_read() -> None:
    (one,) = parse(subject(316, "1-000000", "20000000")).experiments[0].results.results

    scores = one.scores("m")

    assert scores is not None
    item = scores.items[PHQ8Item.NO_INTEREST]
    assert (item.score, item.confidence, item.evidence_count, item.evidence_source) == (1, 4, 2, "llm")
    assert item.retrieval.model_dump() == {"count": 2, "mean": 0.75, "maximum": 0.8}
    assert item.tokens is not None
    assert item.tokens.model_dump() == {"msp": 0.9, "pe": 0.25, "energy": -0.01}
    assert item.consistency is not None
    assert item.consistency.samples == (1, 1, 1, 1, 2)
    assert scores.items[PHQ8Item.DEPRESSED].score is None
    assert (scores.totals.minimum, scores.totals.maximum) == (1, 4)


def test_signals_that_older_files_lack_are_absent() -> None:
    (one,) = parse(subject(316, "10000000", "20000000", item_signals={})).experiments[0].results.results

    scores = one.scores("m")

    assert scores is not None
    item = scores.items[PHQ8Item.SLEEP]
    assert (item.confidence, item.tokens, item.consistency, item.evidence_count) == (None, None, None, 0)


def test_nan_in_older_files_is_unknown() -> None:
    results = parse(failed(316, "x"), item_mae_weighted=float("nan")).experiments[0].results

    assert results.item_mae_weighted is None


def signals(**changes: Any) -> bytes:
    changed = {"Sleep": dict(SIGNALS) | changes}
    return results_file(experiment("few_shot", subject(316, "10000000", "20000000", item_signals=changed)))


def changed(**changes: Any) -> bytes:
    return results_file(experiment("few_shot", subject(316, "10000000", "20000000") | changes))


PLACE = "f.json: experiments.0.results.results.0"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"[]", "f.json: Input should be an object"),
        (b"{}", "f.json: run_metadata: Field required"),
        (b"[" * 100_000, "f.json: Invalid JSON: recursion limit exceeded at line 1 column 202"),
        (b"9" * 10_000, "f.json: Invalid JSON: number out of range at line 1 column 4302"),
        (results_file(), "f.json: experiments: List should have at least 1 item after validation, not 0"),
        (results_file(run_id=7), "f.json: run_metadata.run_id: Input should be a valid string"),
        (
            changed(predicted_items=items("10000000") | {"Sleep": True}),
            f"{PLACE}.predicted_items.Sleep: Input should be a valid integer",
        ),
        (
            changed(predicted_items=items("10000000") | {"Sleep": 4}),
            f"{PLACE}.predicted_items.Sleep: Input should be less than or equal to 3",
        ),
        (
            changed(predicted_items=items("10000000") | {"up at three": 1}),
            f"{PLACE}.predicted_items: Has a name that is no PHQ-8 item",
        ),
        (changed(predicted_items={}), f"{PLACE}: Has success and not all eight predicted items"),
        (changed(ground_truth_items={"Sleep": 1}), f"{PLACE}: Has some ground truth and not all eight items"),
        (changed(participant_id="316"), f"{PLACE}.participant_id: Input should be a valid integer"),
        (changed(error="up at \x00"), f"{PLACE}.error: Text has a NUL character or half of a surrogate pair"),
        (signals(token_pe=None), f"{PLACE}.item_signals.Sleep: Has some signals of the tokens or samples, not all"),
        (
            signals(retrieval_similarity_mean=1.5),
            f"{PLACE}.item_signals.Sleep.retrieval_similarity_mean: Input should be less than or equal to 1",
        ),
        (
            signals(token_energy=float("inf")),
            f"{PLACE}.item_signals.Sleep.token_energy: Input should be a finite number",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_not_shown(data: bytes, what: str) -> None:
    assert found(data)[0] == what


def test_modes_and_participants_that_repeat_are_refused() -> None:
    one = experiment("few_shot", subject(316, "10000000", "20000000"), subject(316, "10000000", "20000000"))

    assert found(results_file(one, one)) == [
        "f.json: has two experiments in mode few_shot; keep one of them",
        "f.json: few_shot: participant 316 has 2 results; keep one of them",
        "f.json: few_shot: participant 316 has 2 results; keep one of them",
    ]
