"""The report of a run of participants: whole reports as stored files, and numbers that are worked out by hand."""

import json
from math import log
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import Refused
from schemas.statuses import JobStatus
from schemas.values.chat import ReaskReason, TokenSignals
from schemas.values.participants import (
    Decision,
    PHQ8Item,
    RankedReferences,
    Reference,
    SimilarityStatistics,
    ValidatedReferences,
    Verdict,
)
from schemas.values.reports import CalibratedConfidence, ReferenceCounts
from schemas.values.runs import OutputTelemetry, ScoredJob, ScoredRun
from schemas.values.scoring import Consistency, Draw, ItemScore, ParticipantScores
from stages.participants.validate import keep_all
from stages.reports.report import build_report, measures_of, reference_counts, report_sheet
from stages.reports.tables import Remark, Sheet
from tests.stages.participants.builders import ranked, reference
from tests.stages.reports.builders import FEW, FEW_SHOT, ZERO_SHOT, failed, job, labels, run, scores

SLEEP, TIRED = PHQ8Item.SLEEP, PHQ8Item.TIRED
ONE, TWO, THREE, UNSCORED = (reference(chunk_id=at, score=score) for at, score in ((1, 2), (2, 0), (3, 1), (4, None)))


def ranking(dropped: dict[PHQ8Item, dict[str, int]], **items: tuple[Reference, ...]) -> RankedReferences:
    found = ranked({PHQ8Item[name]: references for name, references in items.items()})
    return found.model_copy(update={"dropped": dropped})


def verdicts(*decisions: Decision) -> tuple[Verdict, ...]:
    return tuple(Verdict(rank=rank, chunk_id=rank, decision=decision) for rank, decision in enumerate(decisions, 1))


def referenced(
    ranked: RankedReferences, validated: ValidatedReferences, scored: ParticipantScores | None = None
) -> ScoredJob:
    return job(2, 316, scored, "1", mode=FEW_SHOT).model_copy(update={"ranked": ranked, "validated": validated})


FIRST = ranking({SLEEP: {"tags": 90, "threshold": 5, "budget": 1}, TIRED: {"budget": 2}}, SLEEP=(ONE, TWO, THREE))
JUDGED = ValidatedReferences(
    validator="judge", items=FIRST.items | {SLEEP: (TWO,)}, verdicts={SLEEP: verdicts(Decision.UNSURE, Decision.ACCEPT)}
)

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


def with_signal(scored: ParticipantScores, **signal: TokenSignals | Consistency) -> ParticipantScores:
    items = {item: score.model_copy(update=signal) for item, score in scored.items.items()}
    return scored.model_copy(update={"items": items})


def both_modes() -> ScoredRun:
    """Zero-shot with probabilities of tokens; few-shot with samples and references, one job unfinished; the second of
    two draws.
    """
    asked_again = (ReaskReason.SCHEMA_VALIDATION, ReaskReason.CUT_OFF, ReaskReason.SCHEMA_VALIDATION)
    repaired = {"repairs": ("json_fixups_applied",), "reasks": asked_again}
    agreed = Consistency(
        samples=(2, 2, None), modal_score=2, modal_count=2, modal_confidence=2 / 3, score_std=0.0, na_rate=1 / 3
    )
    zero_shot = with_signal(scores("10"), tokens=TokenSignals(msp=0.9, pe=0.5, energy=-0.1))
    unfinished = {"job_id": 3, "participant_id": 319, "validated": None, "status": JobStatus.RUNNING}
    baseline = {"split": "train", "participants": 58, "median": labels("11111111"), "mode": labels("0")}
    found = run(
        job(1, 316, zero_shot.model_copy(update=repaired), "10"),
        referenced(FIRST, JUDGED, with_signal(scores("2"), consistency=agreed)),
        referenced(FIRST, JUDGED).model_copy(update=unfinished),
        request={"draw": 1, "baseline": baseline},
    )
    of_two = {"job_id": 2, "repairs": (), "reasks": ()}
    texts = [OutputTelemetry(stage=stage, cut_texts=cut, **of_two) for stage, cut in (("embed", 3), ("extract", None))]
    draws = [
        Draw(
            run_id=f"r{11 + at}", draw=at, mode=ZERO_SHOT, evaluated=1, item_mae_weighted=mae, prediction_coverage=0.25
        )
        for at, mae in ((1, 0.5), (0, 1.0))
    ]
    return found.model_copy(update={"telemetry": (*found.telemetry, *texts), "siblings": tuple(draws)})


@pytest.mark.parametrize(("name", "of"), [("report", RUN), ("both_modes", both_modes())])
def test_the_report_equals_the_golden_file(name: str, of: ScoredRun) -> None:
    """The whole report, and what people read of it. After an intended change, write what this test compares with into
    the files.
    """
    report = build_report(of, measures=FEW)
    found = json.loads(json.dumps(report.model_dump(mode="json"), allow_nan=False))

    golden, read = (Path(__file__).with_name(f"{name}.golden.{ending}") for ending in ("json", "txt"))
    assert rounded(found) == json.loads(golden.read_text(), parse_constant=pytest.fail)
    assert in_words(report_sheet(report)) == read.read_text(encoding="utf-8")


def in_words(sheet: Sheet) -> str:
    lines = [sheet.title, sheet.head, *sheet.facts, *sheet.notices]
    for part in sheet.parts:
        rows = [(part.words,)] if isinstance(part, Remark) else [(part.caption,), part.columns, *part.rows, part.notes]
        lines += [" | ".join(map(str, row)).rstrip() for row in rows]
    return "\n".join((*lines, *sheet.cost, *sheet.origin, ""))


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return round(value, 9) if isinstance(value, float) else value


def test_measures_are_those_that_were_chosen_then_those_of_the_run() -> None:
    settings = {"BINARY_THRESHOLD": 12, "PREDICTION_MODE": "total"}

    found = measures_of(run(settings=settings).settings, {"binary_threshold": 11})

    assert (found.binary_threshold, found.prediction_mode) == (11, "total")


def test_a_run_that_scored_nobody_has_no_number_and_no_zero() -> None:
    found = build_report(run(job(1, 316, None, "0"), failures=[failed(1, 316)]), measures=FEW)

    (one,) = found.experiments
    results, selective = one.results, one.selective_prediction
    assert (results.evaluated_subjects, results.failed_subjects) == (0, 1)
    assert (results.item_mae_weighted, results.prediction_coverage, results.model) == (None, None, None)
    assert (selective.chosen.aurc.value, selective.by_confidence, selective.unavailable) == (None, {}, {})
    assert one.calibration is None
    assert json.dumps(found.model_dump(mode="json"), allow_nan=False)


def test_a_mode_stands_beside_the_median_and_the_mode_of_the_training_split() -> None:
    record = {"split": "paper-train", "participants": 58, "median": labels("11111111"), "mode": labels("00000000")}
    people = [job(at, 300 + at, scores("0012300-"), "00123002") for at in range(10)]
    found = build_report(run(*people, request={"baseline": record}), measures=FEW).experiments[0].baselines
    assert found is not None

    # Over the seven scored items: the median is 1 off at 0 0 . 1 2 0 0, of which one is exact
    assert found.median.item_mae_weighted.value == pytest.approx((1 + 1 + 0 + 1 + 2 + 1 + 1) / 7)
    assert found.mode.item_mae_weighted.value == pytest.approx((1 + 2 + 3) / 7)
    assert (found.median.per_item[TIRED].value, found.mode.per_item[PHQ8Item.MOVING].value) == (1, None)
    assert (found.median.difference.value, found.median.difference.high) == pytest.approx((-1, -1))


#: Errors 0 0 1 1 and 0 2, stated 5 1 3 4 and 3 2.
TEST = run(job(1, 316, scores("1023", "3122", "5134"), "1032"), job(2, 319, scores("12", "21", "32"), "10"))
#: Three exact scores of four, of which one has no stated confidence.
TRAINING = run(
    job(3, 302, scores("102", "312", "54-"), "102"), job(4, 307, scores("2", "2", "3"), "0"), run_id=7
).model_copy(update={"request": {"split": "paper-val"}})


def calibrated(confidence: str, *, on: ScoredRun | None = TRAINING) -> CalibratedConfidence:
    measures = FEW.model_copy(update={"confidence": confidence})
    found = build_report(TEST, measures=measures, calibrate_on=on).experiments[0].calibrated
    assert isinstance(found, CalibratedConfidence)
    return found


def test_a_temperature_is_fitted_on_the_scores_of_the_other_run_with_a_stated_confidence() -> None:
    found = calibrated("calibrated:temperature:verbalized")

    assert (found.method, found.fitted_on, found.split) == ("temperature", "r7", "paper-val")
    # 302 states two confidences, 307 one; the score without one counts as 0.5, from which nothing is learnt.
    assert (found.participants, found.items, list(found.parameters)) == (2, 3, ["temperature"])
    assert found.before is not None and found.after is not None
    # Stated 1, 0, 0.5, 0.75, 0.5, 0.25; exact are the first two and the fifth: squares 0 1 .25 .5625 .25 .0625
    assert found.before["brier"] == pytest.approx((0 + 1 + 0.25 + 0.5625 + 0.25 + 0.0625) / 6)
    happened = (1 - 1e-6, 1e-6, 0.5, 0.25, 0.5, 0.75)
    assert found.before["log_loss"] == pytest.approx(-sum(map(log, happened)) / 6)
    # Bins: 0 (exact 1), 0.25 (0), 0.5 twice (half), 0.75 (0), 1 (exact 1)
    assert found.before["ece"] == pytest.approx((1 + 0.25 + 2 * 0 + 0.75 + 0) / 6)


@pytest.mark.parametrize(
    ("confidence", "on", "words"),
    [
        ("calibrated:temperature:verbalized", TEST, "r12 and r12 share 2 participants, so"),
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
        calibrated(confidence, on=on)


def test_every_retrieved_reference_is_dropped_by_one_filter_or_shown() -> None:
    second = ranking({SLEEP: {"threshold": 1, "top_k": 7}}, SLEEP=(ONE, UNSCORED), TIRED=(THREE,))
    third = ranking({}, SLEEP=(ONE, TWO, THREE))
    of_sleep = {SLEEP: ItemScore(retrieval=SimilarityStatistics(count=1, mean=0.9, maximum=0.9))}
    scored = scores("2").model_copy(update={"items": scores("2").items | of_sleep})
    unscored = [referenced(FIRST, JUDGED), referenced(second, keep_all(second))]

    counts = reference_counts([*unscored, referenced(third, keep_all(third), scored)])

    # Of the three of the first, one is not accepted, one is, and the third is not judged; the context of the third job
    # has room for one of three.
    before = {"threshold": 6, "duplicate": 0, "top_k": 7, "budget": 1}
    dropped = before | {"rejected": 1, "validation_limit": 1, "unscored": 1, "context": 2}
    assert counts[SLEEP] == ReferenceCounts(untagged=90, retrieved=5 + 1 + 3 + 1 + 7 + 2 + 3, dropped=dropped, shown=3)
    assert (counts[TIRED].dropped["budget"], counts[TIRED].retrieved, counts[TIRED].shown) == (2, 3, 1)
    assert list(counts) == list(PHQ8Item)
