"""The report of a run of participants."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import Refused
from schemas.statuses import JobStatus
from schemas.values.chat import ReaskReason, TokenSignals
from schemas.values.differences import Measures
from schemas.values.participants import (
    Decision,
    PHQ8Item,
    RankedReferences,
    Reference,
    SimilarityStatistics,
    ValidatedReferences,
    Verdict,
)
from schemas.values.reports import CalibratedConfidence, ReferenceCounts, Report, StageTelemetry
from schemas.values.runs import OutputTelemetry, ScoredJob, ScoredRun
from schemas.values.scoring import ItemScore, ParticipantScores
from stages.metrics.confidence import Variant, evidence_count
from stages.metrics.scores import cohort_of
from stages.metrics.selective import risk_coverage_curve
from stages.participants.validate import keep_all
from stages.reports.calibration import selective_prediction
from stages.reports.costs import telemetry
from stages.reports.report import build_report, reference_counts
from tests.stages.metrics.builders import random_subjects
from tests.stages.participants.builders import ranked, reference
from tests.stages.reports.builders import FEW, FEW_SHOT, INDEX, ZERO_SHOT, failed, job, labels, run, scores

GOLDEN = Path(__file__).with_name("report.golden.json")

#: 316 scores five items, 319 one, 330 none; 339 has no labels, 345 failed, 357 still runs.
RUN = run(
    job(1, 316, scores("1023 1".replace(" ", "-"), confidences="31220100", stated="5134-2"), "10320102"),
    job(2, 319, scores("2", confidences="2", stated="3"), "00000000"),
    job(3, 330, scores(""), "33333333"),
    job(4, 339, scores("11111111"), None),
    job(5, 345, None, "00000000"),
    job(6, 357, None, "00000000", status=JobStatus.RUNNING),
    failures=[failed(5, 345)],
    settings={"MODEL_QUANTITATIVE_MODEL": "scorer", "CONSISTENCY_ENABLED": False},
    profile="demo",
)


def without_timings(report: Report) -> str:
    return json.dumps(report.model_dump(mode="json", exclude={"timings"}), allow_nan=False)


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return round(value, 9) if isinstance(value, float) else value


def test_a_participant_is_shown_with_scores_bounds_and_truth_and_without_words() -> None:
    first, second, *_, without_labels, fallen, _ = build_report(RUN, measures=FEW).experiments[0].results.results

    assert first.totals is not None
    assert (first.totals.minimum, first.totals.maximum, first.totals.severity) == (7, 16, None)
    assert (first.available_items, first.na_items, first.mae_available, first.ground_truth_total) == (5, 3, 0.4, 9)
    assert second.predicted_items == {item: 2 if item is PHQ8Item.NO_INTEREST else None for item in PHQ8Item}
    assert (without_labels.success, without_labels.mae_available, without_labels.ground_truth_items) == (
        True,
        None,
        None,
    )
    assert (fallen.success, fallen.status, fallen.error_category, fallen.error) == (
        False,
        JobStatus.FAILED,
        "scoring_llm_timeout",
        "LLM request timed out after 600s",
    )
    text = without_timings(build_report(RUN, measures=FEW))
    assert "words of a participant" not in text
    assert "why that is" not in text


def test_provenance_names_what_each_mode_was_made_of() -> None:
    jobs = [job(1, 316, scores("1"), "1"), job(2, 316, scores("1"), "1", mode=FEW_SHOT)]

    zero_shot, few_shot = (one.provenance for one in build_report(run(*jobs), measures=FEW).experiments)

    assert (few_shot.rankers, zero_shot.rankers) == (("similarity",), ())
    assert (few_shot.reference_indexes, few_shot.embedding_model_digests) == ((INDEX,), ("weights",))
    assert (zero_shot.reference_indexes, zero_shot.embedding_model_digests, zero_shot.mode) == ((), (), ZERO_SHOT)


def test_a_run_that_scored_nobody_has_no_number_and_no_zero() -> None:
    report = build_report(run(job(1, 316, None, "0"), failures=[failed(1, 316)]), measures=FEW)

    results = report.experiments[0].results
    assert (results.evaluated_subjects, results.failed_subjects) == (0, 1)
    assert (results.item_mae_weighted, results.prediction_coverage, results.model) == (None, None, None)
    selective = report.experiments[0].selective_prediction
    assert (selective.chosen.aurc.value, selective.by_confidence, selective.unavailable) == (None, {}, {})
    assert report.experiments[0].calibration is None
    assert "NaN" not in without_timings(report)


def test_references_and_telemetry_are_those_of_the_mode() -> None:
    repaired = scores("1").model_copy(
        update={"repairs": ("json_fixups_applied",), "reasks": (ReaskReason.SCHEMA_VALIDATION,)}
    )
    few_shot = job(2, 316, scores("1"), "1", mode=FEW_SHOT)
    assert few_shot.ranked is not None
    dropped = few_shot.ranked.model_copy(update={"dropped": {PHQ8Item.SLEEP: {"budget": 4}}})
    unfinished = few_shot.model_copy(update={"job_id": 3, "participant_id": 319, "validated": None, "scores": None})
    jobs = [job(1, 316, repaired, "1"), few_shot.model_copy(update={"ranked": dropped}), unfinished]

    zero, few = build_report(run(*jobs), measures=FEW).experiments

    assert (zero.references, few.references[PHQ8Item.SLEEP].dropped["budget"]) == ({}, 4)
    assert (zero.telemetry["score"].repairs, zero.telemetry["score"].reasks) == (
        {"json_fixups_applied": 1},
        {"schema_validation": 1},
    )
    assert (few.telemetry["score"].outputs, few.telemetry["score"].repairs) == (1, {})


def test_the_report_equals_the_golden_file() -> None:
    """The whole report. After an intended change, write what this test compares with into report.golden.json."""
    found = json.loads(json.dumps(build_report(RUN, measures=FEW).model_dump(mode="json"), allow_nan=False))

    assert rounded(found) == json.loads(GOLDEN.read_text(), parse_constant=pytest.fail)


def test_token_confidences_appear_where_every_score_has_token_signals() -> None:
    one = scores("10")
    tokens = TokenSignals(msp=0.9, pe=0.5, energy=-0.1)
    with_tokens = {item: score.model_copy(update={"tokens": tokens}) for item, score in one.items.items()}

    (mode,) = build_report(
        run(job(1, 316, one.model_copy(update={"items": with_tokens}), "10")), measures=FEW
    ).experiments

    found = mode.selective_prediction
    assert {"token_msp", "token_pe", "token_energy"} <= found.by_confidence.keys()
    assert not any(name.startswith("token") for name in found.unavailable)
    assert found.signals["tokens"] == 2


def test_a_mode_stands_beside_the_median_and_the_mode_of_the_training_split() -> None:
    record = {"split": "paper-train", "participants": 58, "median": labels("11111111"), "mode": labels("00000000")}
    people = [job(at, 300 + at, scores("0012300-"), "00123002") for at in range(10)]
    found = build_report(run(*people, request={"baseline": record}), measures=FEW).experiments[0].baselines
    assert found is not None

    # Over the seven scored items: the median is 1 off at 0 0 . 1 2 0 0, of which one is exact
    assert found.median.item_mae_weighted.value == pytest.approx((1 + 1 + 0 + 1 + 2 + 1 + 1) / 7)
    assert found.mode.item_mae_weighted.value == pytest.approx((1 + 2 + 3) / 7)
    assert found.median.per_item[PHQ8Item.TIRED].value == 1
    assert (found.mode.per_item[PHQ8Item.MOVING].value, found.split) == (None, "paper-train")
    assert found.median.difference.value == pytest.approx(-1)
    assert found.median.difference.high == pytest.approx(-1)


#: Errors 0 0 1 1 and 0 2, stated 5 1 3 4 and 3 2.
TEST = run(job(1, 316, scores("1023", "3122", "5134"), "1032"), job(2, 319, scores("12", "21", "32"), "10"))
#: Three exact scores of four, of which one has no stated confidence.
TRAINING = run(
    job(3, 302, scores("102", "312", "54-"), "102"), job(4, 307, scores("2", "2", "3"), "0"), run_id=7
).model_copy(update={"request": {"split": "paper-val"}})


def report(confidence: str, *, on: ScoredRun | None = TRAINING, of: ScoredRun = TEST) -> Report:
    return build_report(of, measures=FEW.model_copy(update={"confidence": confidence}), calibrate_on=on)


def calibrated(confidence: str) -> CalibratedConfidence:
    found = report(confidence).experiments[0].calibrated
    assert found is not None
    return found


def test_a_temperature_is_fitted_on_the_scores_of_the_other_run_with_a_stated_confidence() -> None:
    found = calibrated("calibrated:temperature:verbalized")

    assert (found.method, found.fitted_on, found.split) == ("temperature", "r7", "paper-val")
    # 302 states two confidences, 307 one; the score without one counts as 0.5, from which nothing is learnt.
    assert (found.participants, found.items, list(found.parameters)) == (2, 3, ["temperature"])
    assert found.before is not None and found.after is not None
    # Stated 1, 0, 0.5, 0.75, 0.5, 0.25; exact are the first two and the fifth: squares 0 1 .25 .5625 .25 .0625
    assert found.before.brier == pytest.approx((0 + 1 + 0.25 + 0.5625 + 0.25 + 0.0625) / 6)
    # Bins: 0 (exact 1), 0.25 (0), 0.5 twice (half), 0.75 (0), 1 (exact 1)
    assert found.before.ece == pytest.approx((1 + 0.25 + 2 * 0 + 0.75 + 0) / 6)


def test_a_run_of_the_same_participants_is_refused() -> None:
    with pytest.raises(Refused, match="r12 and r12 share 2 participants, so"):
        report("calibrated:temperature:verbalized", on=TEST)


@pytest.mark.parametrize(
    ("confidence", "on", "words"),
    [
        ("calibrated:temperature:verbalized", None, "--calibrate-on"),
        ("llm", TRAINING, "'llm' is no calibrated confidence"),
        ("calibrated:magic:llm", TRAINING, "method of temperature, logistic, isotonic"),
        ("calibrated:isotonic:luck", TRAINING, "There is no confidence 'luck'"),
        ("calibrated:isotonic:token_msp", TRAINING, "token probabilities"),
        (
            "calibrated:isotonic:llm",
            run(job(3, 302, scores("1"), "1", mode=FEW_SHOT), run_id=7),
            "r7 has no jobs in mode zero_shot to calibrate on; it has few_shot",
        ),
        ("calibrated:isotonic:llm", run(job(3, 302, scores("1"), None), run_id=7), "r7 has no score in mode zero_shot"),
        ("calibrated:isotonic:verbalized", run(job(3, 302, scores("1"), "1"), run_id=7), "has no score"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(confidence: str, on: ScoredRun | None, words: str) -> None:
    with pytest.raises(Refused, match=words):
        report(confidence, on=on)


SLEEP, TIRED = PHQ8Item.SLEEP, PHQ8Item.TIRED
ONE, TWO, THREE, UNSCORED = (reference(chunk_id=at, score=score) for at, score in ((1, 2), (2, 0), (3, 1), (4, None)))


def ranking(dropped: dict[PHQ8Item, dict[str, int]], **items: tuple[Reference, ...]) -> RankedReferences:
    return ranked({PHQ8Item[name]: references for name, references in items.items()}).model_copy(
        update={"dropped": dropped}
    )


def verdicts(*decisions: Decision) -> tuple[Verdict, ...]:
    return tuple(Verdict(rank=rank, chunk_id=rank, decision=decision) for rank, decision in enumerate(decisions, 1))


def referenced(
    ranked: RankedReferences, validated: ValidatedReferences, scored: ParticipantScores | None = None
) -> ScoredJob:
    return job(1, 316, scored, "1", mode=FEW_SHOT).model_copy(update={"ranked": ranked, "validated": validated})


def test_every_retrieved_reference_is_dropped_by_one_filter_or_shown() -> None:
    first = ranking({SLEEP: {"tags": 90, "threshold": 5, "budget": 1}, TIRED: {"budget": 2}}, SLEEP=(ONE, TWO, THREE))
    judged = ValidatedReferences(
        validator="judge",
        items=first.items | {SLEEP: (TWO,)},
        verdicts={SLEEP: verdicts(Decision.UNSURE, Decision.ACCEPT)},
    )
    second = ranking({SLEEP: {"threshold": 1, "top_k": 7}}, SLEEP=(ONE, UNSCORED), TIRED=(THREE,))

    counts = reference_counts([referenced(first, judged), referenced(second, keep_all(second))])

    # Of the three of the first, one is not accepted, one is, and the third is not judged.
    assert counts[SLEEP] == ReferenceCounts(
        untagged=90,
        retrieved=5 + 1 + 3 + 1 + 7 + 2,
        dropped={
            "threshold": 6,
            "duplicate": 0,
            "top_k": 7,
            "budget": 1,
            "rejected": 1,
            "validation_limit": 1,
            "unscored": 1,
            "context": 0,
        },
        shown=2,
    )
    assert (counts[TIRED].dropped["budget"], counts[TIRED].retrieved, counts[TIRED].shown) == (2, 3, 1)
    assert list(counts) == list(PHQ8Item)


def test_references_that_the_context_had_no_room_for_are_not_shown() -> None:
    one = ranking({}, SLEEP=(ONE, TWO, THREE))
    of_sleep = {PHQ8Item.SLEEP: ItemScore(retrieval=SimilarityStatistics(count=1, mean=0.9, maximum=0.9))}
    scored = scores("2").model_copy(update={"items": scores("2").items | of_sleep})

    counts = reference_counts([referenced(one, keep_all(one), scored)])

    assert (counts[SLEEP].dropped["context"], counts[SLEEP].shown, counts[SLEEP].retrieved) == (2, 1, 3)


def output(stage: str, *repairs: str, reasks: tuple[str, ...] = (), cut_texts: int | None = None) -> OutputTelemetry:
    return OutputTelemetry(job_id=1, stage=stage, repairs=repairs, reasks=reasks, cut_texts=cut_texts)


def test_categories_are_counted_by_stage_in_the_order_of_the_chain() -> None:
    found = telemetry(
        [
            output("score", "json_fixups_applied", reasks=("json_parse", "cut_off")),
            output("score", "json_repair_fallback", "json_fixups_applied", reasks=("json_parse",)),
            output("embed", cut_texts=3),
            output("embed", cut_texts=0),
            output("extract"),
        ],
        kind="participant",
    )

    assert list(found.items()) == [
        ("extract", StageTelemetry(outputs=1, repairs={}, reasks={}, cut_texts=None)),
        ("embed", StageTelemetry(outputs=2, repairs={}, reasks={}, cut_texts=3)),
        (
            "score",
            StageTelemetry(
                outputs=2,
                repairs={"json_fixups_applied": 2, "json_repair_fallback": 1},
                reasks={"cut_off": 1, "json_parse": 2},
                cut_texts=None,
            ),
        ),
    ]


MEASURES = Measures(bootstrap_resamples=20)


def test_a_short_curve_has_its_band_at_each_step_and_each_percent() -> None:
    cohort = cohort_of(random_subjects(20, seed=1, na_share=0.3))
    steps = {point.coverage for point in risk_coverage_curve(cohort, confidence=evidence_count, loss="abs_norm")}

    found = selective_prediction(cohort, variant=Variant(evidence_count, frozenset()), measures=MEASURES)

    end = max(steps)
    percents = {percent / 100 for percent in range(1, 101) if percent / 100 <= end}
    assert [point.coverage for point in found.chosen.band] == sorted(steps | percents)


def test_a_long_curve_has_its_band_at_each_percent_and_at_its_end() -> None:
    cohort = cohort_of(random_subjects(20, seed=1, na_share=0.3))
    items = [item for subject in cohort.subjects for item in subject.items.values()]
    ranks = {id(item): float(rank) for rank, item in enumerate(items)}
    variant = Variant(lambda item: ranks[id(item)], frozenset())

    found = selective_prediction(cohort, variant=variant, measures=MEASURES)

    end = found.chosen.curve[-1].coverage
    assert len(found.chosen.curve) > 100
    assert [point.coverage for point in found.chosen.band] == sorted(
        {percent / 100 for percent in range(1, 101) if percent / 100 <= end} | {end}
    )
