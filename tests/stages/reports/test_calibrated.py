"""A confidence that is calibrated on another run."""

from dataclasses import replace

import pytest

from schemas.errors import Refused
from schemas.values.reports import CalibratedConfidence, Report
from schemas.values.runs import ScoredRun
from stages.reports.report import build_report
from tests.stages.reports.builders import FEW, FEW_SHOT, job, run, scores

#: Errors 0 0 1 1 and 0 2, stated 5 1 3 4 and 3 2.
TEST = run(job(1, 316, scores("1023", "3122", "5134"), "1032"), job(2, 319, scores("12", "21", "32"), "10"))
#: Three exact scores of four, of which one has no stated confidence.
TRAINING = run(
    job(3, 302, scores("102", "312", "54-"), "102"), job(4, 307, scores("2", "2", "3"), "0"), run_id=7
).model_copy(update={"request": {"split": "paper-val"}})


def report(confidence: str, *, on: ScoredRun | None = TRAINING, of: ScoredRun = TEST) -> Report:
    return build_report(of, measures=replace(FEW, confidence=confidence), calibrate_on=on)


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
