"""ragq computes what ai-psychiatrist's published code computed, on inputs and outputs that were recorded once.

Each file beside this one has the inputs, the outputs, and how they were made; none has code. What differs on purpose is
in `differences.json`, with the reason.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stages.metrics.bootstrap
from schemas.errors import EvidenceSchemaError, LLMResponseParseError
from schemas.settings.run import EmbeddingSettings
from schemas.values.chat import TokenSignals
from schemas.values.participants import EmbeddedEvidence, ExtractedEvidence, PHQ8Item, Reference, SimilarityStatistics
from schemas.values.scoring import Consistency, ItemScore, Subject
from stages.metrics import scores
from stages.metrics.confidence import variant_named
from stages.metrics.selective import risk_coverage_curve
from stages.participants.chunking import chunk_transcript
from stages.participants.extract import extract_evidence, keep_grounded
from stages.participants.rerank import rank_references
from stages.participants.retrieve import retrieve_references
from stages.participants.score_reply import parse_scores
from tests.fakes.chat import ScriptedChat
from tests.fakes.references import IndexedChunk, InMemoryReferenceSearch
from tests.stages.at_defaults import GROUNDING, reference_block, settings
from tests.stages.metrics.formulas import bootstrap, of_curve, paired_delta, risk_at, value_of
from tests.stages.participants.builders import reference


def recorded(name: str) -> Any:
    return json.loads((Path(__file__).parent / f"{name}.json").read_text(encoding="utf-8"))


def close(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("case", recorded("blocks")["cases"])
def test_reference_blocks_are_equal_to_the_byte(case: Any) -> None:
    texts: dict[int, str] = {}
    items: dict[PHQ8Item, tuple[Reference, ...]] = {}
    for item, references in case["references"].items():
        first = len(texts) + 1
        texts |= {first + at: text for at, (_, text) in enumerate(references)}
        items[PHQ8Item(item)] = tuple(
            reference(text, chunk_id=first + at, score=score) for at, (score, text) in enumerate(references)
        )

    assert reference_block(items, texts).encode() == case["block"].encode()


@pytest.mark.parametrize("case", recorded("selection")["cases"])
async def test_the_same_references_are_selected_in_the_same_order(case: Any) -> None:
    chosen = case["settings"]
    kept = await selected(
        case["rows"],
        case,
        item=PHQ8Item(chosen["item"]),
        enable_item_tag_filter=chosen["tag_filter"],
        reference_score_source=chosen["source"],
        min_reference_similarity=chosen["min_similarity"],
        top_k_references=chosen["top_k"],
        max_reference_chars_per_item=chosen["max_chars"],
    )

    assert [(one.participant_id, one.ordinal, one.score) for one in kept] == [
        (participant_id, ordinal, score) for participant_id, ordinal, _, score in case["kept"]
    ]
    # The recorded similarities were computed in float32.
    assert [one.similarity for one in kept] == pytest.approx([one[2] for one in case["kept"]], abs=1e-6)


async def selected(
    rows: Sequence[Sequence[Any]], case: Mapping[str, Any], *, item: PHQ8Item = PHQ8Item.SLEEP, **embedding: Any
) -> tuple[Reference, ...]:
    chunks = [
        IndexedChunk(
            chunk_id=place,
            participant_id=participant_id,
            ordinal=ordinal,
            text="x" * chars,
            vector=np.array(vector, dtype=np.float32),
            scores={} if score is None else {item: score},
            own_scores={} if own is None else {item: own},
            tags=(item,) if is_tagged else (),
        )
        for place, ((participant_id, ordinal, chars, is_tagged, score, own), vector) in enumerate(
            zip(rows, case["matrix"], strict=True)
        )
    ]
    query = np.array([case["query"]], dtype=np.float32)
    run = settings(embedding=embedding, ragq={"retrieve_candidates": len(chunks)})
    retrieved = await retrieve_references(
        EmbeddedEvidence(model="m", model_digest="d", dimension=query.size, items=(item,), embedding_calls=1),
        query,
        search=InMemoryReferenceSearch({1: chunks}),
        index_id=1,
        left_out=(),
        settings=run,
    )
    return rank_references(retrieved, run).items[item]


@pytest.mark.parametrize("case", recorded("confidences")["cases"])
def test_confidences_are_equal(case: Any) -> None:
    signals = case["signals"]
    item = ItemScore(
        score=1,
        confidence=signals["verbalized_confidence"],
        evidence_count=signals["llm_evidence_count"],
        retrieval=SimilarityStatistics(
            count=0, mean=signals["retrieval_similarity_mean"], maximum=signals["retrieval_similarity_max"]
        ),
        tokens=TokenSignals(msp=signals["token_msp"], pe=signals["token_pe"], energy=signals["token_energy"]),
        consistency=Consistency(
            samples=(1,),
            modal_score=1,
            modal_count=1,
            modal_confidence=signals["consistency_modal_confidence"],
            score_std=signals["consistency_score_std"],
            na_rate=0,
        ),
    )

    assert {name: variant_named(name).confidence(item) for name in case["confidences"]} == {
        name: close(value) for name, value in case["confidences"].items()
    }


METRICS = recorded("metrics")


@pytest.mark.parametrize("case", METRICS["cohorts"])
def test_errors_coverage_totals_and_binary_metrics_are_equal(case: Any) -> None:
    cohort = a_cohort(case["participants"])
    evaluated = np.count_nonzero(cohort.scored_items)

    expected = case["items"]
    assert (evaluated, len(cohort) - evaluated) == (expected["evaluated"], expected["excluded"])
    for metric in (
        scores.item_mae_weighted,
        scores.item_mae_by_item,
        scores.item_mae_by_subject,
        scores.prediction_coverage,
    ):
        assert value_of(metric, cohort) == close(expected[metric.__name__]), metric.__name__
    for item, of_item in expected["per_item"].items():
        mae = value_of(partial(scores.item_mae, item=PHQ8Item(item)), cohort)
        count = int(cohort.is_scored[:, scores.ORDER.index(PHQ8Item(item))].sum())
        assert (mae, count, evaluated - count) == (close(of_item["mae"]), of_item["count"], of_item["na_count"])
    for metrics, group in (
        (scores.total_metrics(cohort, min_coverage=0.5), "totals"),
        (scores.binary_metrics(cohort, threshold=10), "binary"),
    ):
        assert {name: getattr(metrics, name) for name in case[group]} == {
            name: close(value) for name, value in case[group].items()
        }


@pytest.mark.parametrize("case", METRICS["cohorts"])
def test_risk_coverage_curves_and_their_areas_are_equal(case: Any) -> None:
    cohort = a_cohort(case["participants"])
    for name, expected in case["selective"].items():
        confidence, _, loss = name.partition(":")
        given, by = partial_metrics(confidence, loss), variant_named(confidence).confidence
        curve = risk_coverage_curve(cohort, confidence=by, loss=loss)
        for field in ("coverage", "selective_risk", "generalized_risk"):
            assert [getattr(point, field) for point in curve] == [close(value) for value in expected[field]], name
        for metric in given:
            assert value_of(given[metric], cohort) == close(expected[metric]), (name, metric)
        for coverage, risk in expected["risk_at"].items():
            assert value_of(risk_at(float(coverage), by, loss), cohort) == close(risk), coverage


@pytest.fixture
def intervals_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals of two participants and more: the published code gives them, and most recorded cohorts are small."""
    monkeypatch.setattr(stages.metrics.bootstrap, "LEAST", 2)


@pytest.mark.usefixtures("intervals_of_few")
@pytest.mark.parametrize("case", METRICS["cohorts"])
def test_bootstrap_intervals_are_equal(case: Any) -> None:
    cohort = a_cohort(case["participants"])
    given = partial_metrics("llm", "abs_norm") | {"risk_at_0.3": risk_at(0.3)}
    for name, expected in case["bootstrap"].items():
        found = bootstrap(given[name], cohort, resamples=METRICS["resamples"], seed=METRICS["bootstrap_seed"])
        values = (found.value, found.low, found.high, found.std)
        point, low, high, std = (close(expected[field]) for field in ("point", "low", "high", "std"))
        if expected["point"] is None:
            # The published code gives an interval to what has no value: of the resamples that have one, or 0 to 0.
            assert values[:3] == (None, None, None), name
        elif found.low is None:
            # A value of one participant: the recorded interval has no width; here there is none.
            assert (found.value, low) == (point, high), name
            continue
        else:
            assert values == (point, low, high, std), name
        assert found.drop_rate == close(expected["drop_rate"]), name


@pytest.mark.usefixtures("intervals_of_few")
def test_paired_deltas_are_equal() -> None:
    pair = METRICS["paired"]
    left, right = (a_cohort(METRICS["cohorts"][pair[side]]["participants"]) for side in ("left", "right"))
    for name in ("aurc", "cmax"):
        metric = partial_metrics("llm", "abs_norm")[name]
        found = paired_delta(metric, left, right, resamples=METRICS["resamples"], seed=METRICS["bootstrap_seed"])
        of_delta = (found.delta.value, found.delta.low, found.delta.high, found.delta.std)
        fields = ("left", "right", "delta", "low", "high", "std")
        assert (found.baseline, found.value, *of_delta) == tuple(close(pair[name][field]) for field in fields)


def a_cohort(participants: Sequence[Mapping[str, Any]]) -> scores.Cohort:
    return scores.cohort_of(
        Subject(
            participant_id=one["id"],
            items={
                item: ItemScore(
                    score=None if one["pred"][place] == "-" else int(one["pred"][place]),
                    evidence_count=int(one["counts"][place]),
                    retrieval=SimilarityStatistics(count=1, mean=one["means"][place], maximum=one["means"][place]),
                )
                for place, item in enumerate(PHQ8Item)
            },
            truth={item: int(one["truth"][place]) for place, item in enumerate(PHQ8Item)},
        )
        for one in participants
    )


def partial_metrics(confidence: str, loss: str) -> dict[str, scores.Metric]:
    by = variant_named(confidence).confidence
    names = ("aurc", "augrc", "aurc_optimal", "augrc_optimal", "aurc_achievable")
    truncated = (("aurc", 0.5), ("augrc", 0.5), ("aurc", 0.25))
    return {
        "cmax": scores.cmax,
        **{name: of_curve(name, by, loss=loss) for name in names},
        **{f"{name}_at_{at}": of_curve(f"{name}_truncated", by, loss=loss, area_coverage=at) for name, at in truncated},
    }


@pytest.mark.parametrize("case", recorded("chunks")["cases"])
def test_transcripts_are_cut_into_the_same_chunks(case: Any) -> None:
    text = "\n".join(letter * 3 for letter in case["lines"])

    embedding = EmbeddingSettings(chunk_size=case["size"], chunk_step=case["step"], min_evidence_chars=1)
    chunks = chunk_transcript(text, embedding)

    assert ["".join(line[0] for line in chunk.split("\n")) for chunk in chunks] == case["chunks"]


@pytest.mark.parametrize("case", recorded("grounding")["cases"])
def test_the_same_quotes_are_grounded(case: Any) -> None:
    quotes = {PHQ8Item.SLEEP: [quote for quote, _ in case["quotes"]]}

    kept, _ = keep_grounded(quotes, case["transcript"], GROUNDING)

    assert list(kept[PHQ8Item.SLEEP]) == [quote for quote, is_grounded in case["quotes"] if is_grounded]


@pytest.mark.parametrize("case", recorded("evidence")["cases"])
async def test_the_same_evidence_is_read(case: Any) -> None:
    if "evidence" in case:
        found = await read_evidence(case["reply"])
        assert {item.evidence_key: list(quotes) for item, quotes in found.quotes.items()} == case["evidence"]
        return
    expected: type[Exception] = EvidenceSchemaError if "violations" in case else LLMResponseParseError
    with pytest.raises(expected) as refusal:
        await read_evidence(case["reply"])
    if isinstance(refusal.value, EvidenceSchemaError):
        assert refusal.value.violations == case["violations"]


async def read_evidence(reply: str) -> ExtractedEvidence:
    unchecked = settings(quantitative={"evidence_quote_validation_enabled": False})
    return await extract_evidence("Participant: hello", chat=ScriptedChat(lambda _: reply), settings=unchecked)


@pytest.mark.parametrize("case", recorded("scores")["cases"])
def test_the_same_scores_are_read(case: Any) -> None:
    if "error" in case:
        with pytest.raises(LLMResponseParseError):
            read_scores(case["reply"])
    else:
        assert read_scores(case["reply"]) == case["scores"]


def read_scores(reply: str) -> dict[str, int | None]:
    answers = parse_scores(reply, severity_mode="strict").value
    return {item.value: answer.score for item, answer in answers.items()}


DIFFERENCES = recorded("differences")


@pytest.mark.parametrize(("name", "top_k"), [("top_k", 4), ("ties", 2)])
async def test_top_k_holds_with_validation_off_and_ties_are_ties_in_float64(name: str, top_k: int) -> None:
    case = DIFFERENCES[name]
    rows = [(303 + place, 0, 10, False, 1, None) for place in range(len(case["matrix"]))]

    kept = await selected(
        rows, case, min_reference_similarity=0.0, top_k_references=top_k, max_reference_chars_per_item=0
    )

    assert [one.participant_id for one in kept] == case["ours"] != case["theirs"]


def test_areas_of_a_cohort_without_scores_have_no_value() -> None:
    case = DIFFERENCES["nothing_scored"]
    cohort = a_cohort([{"id": 300, "pred": "-" * 8, "truth": "1" * 8, "counts": "0" * 8, "means": [0] * 8}])
    given = partial_metrics("llm", "abs_norm")

    assert {name: value_of(given[name], cohort) for name in case["ours"]} == case["ours"] != case["theirs"]


async def test_a_quote_in_valid_json_stays_as_the_model_wrote_it() -> None:
    case = DIFFERENCES["zero_width_in_a_quote"]

    found = await read_evidence(case["reply"])

    assert list(found.quotes[PHQ8Item.SLEEP]) == case["ours"] != case["theirs"]


@pytest.mark.parametrize("name", ["several_answers", "true_is_a_score"])
def test_a_reply_that_is_no_single_answer_is_not_read_as_the_published_code_reads_it(name: str) -> None:
    case = DIFFERENCES[name]
    found: dict[str, int | None] | None = None
    with suppress(LLMResponseParseError):
        found = read_scores(case["reply"])

    assert found != case["theirs"]
    if "ours" in case:
        assert found == case["ours"]
