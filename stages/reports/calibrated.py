"""Confidences that are calibrated on another run: `calibrated:METHOD:A`, or `calibrated:logistic:A+B`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from schemas.errors import Refused
from schemas.values.phq8 import AssessmentMode
from schemas.values.reports import CalibratedConfidence, CalibrationErrors
from schemas.values.scored_runs import ScoredRun
from schemas.values.scoring import ItemScore
from stages.metrics.calibrators import METHODS, Exact, Fitted, brier, expected_calibration_error, log_loss
from stages.metrics.cohort import Cohort, Floats
from stages.metrics.confidence import Confidence, Signal, Variant, variant_named
from stages.reports.results import cohort_of_jobs, jobs_of, modes_of

PREFIX = "calibrated:"

DEFAULT = "calibrated:temperature:verbalized"
"""The confidence of a report that calibrates and names none."""


class Calibrated(NamedTuple):
    """A calibrated confidence, and how it was made."""

    variant: Variant
    about: CalibratedConfidence


def is_calibrated(name: str) -> bool:
    """Whether a confidence needs another run."""
    return name.startswith(PREFIX)


def calibrated_confidence(
    name: str, *, on: ScoredRun, run: ScoredRun, mode: AssessmentMode, cohort: Cohort
) -> Calibrated:
    """The confidence `name`, fitted on the scores of run `on` in this mode, and its errors over `cohort`.

    A score counts as right if it equals the truth. Raises Refused for a name that is none, for runs that share
    participants, whose truth the calibration would have seen, and where there is nothing to fit on.
    """
    method, variants = _parsed(name)
    shared = {job.participant_id for job in run.jobs} & {job.participant_id for job in on.jobs}
    if shared:
        raise Refused(
            f"r{on.run_id} and r{run.run_id} share {len(shared)} participants, so a calibration on r{on.run_id} would "
            "have seen their labels; calibrate on a run of another split, such as paper-val for paper-test."
        )
    if mode not in modes_of(on):
        raise Refused(
            f"Run r{on.run_id} has no jobs in mode {mode} to calibrate on; it has {' and '.join(modes_of(on))}."
        )
    training = cohort_of_jobs(jobs_of(on, mode))
    needs = frozenset[Signal]().union(*(variant.needs for variant in variants))
    is_used = training.is_scored & _has_signals(training, needs)
    if not is_used.any():
        raise Refused(f"Run r{on.run_id} has no score in mode {mode} with labels and the signals of {name!r}.")
    fitted = METHODS[method](_confidences(training, variants)[is_used], training.errors[is_used] == 0)
    confidence = _applied(fitted, variants)
    return Calibrated(
        Variant(confidence, needs),
        CalibratedConfidence(
            confidence=name,
            method=method,
            fitted_on=f"r{on.run_id}",
            split=on.request.get("split"),
            participants=int(np.count_nonzero(is_used.any(axis=1))),
            items=int(is_used.sum()),
            parameters=fitted.parameters,
            before=_errors(cohort, variants[0].confidence) if len(variants) == 1 else None,
            after=_errors(cohort, confidence),
        ),
    )


def _parsed(name: str) -> tuple[str, list[Variant]]:
    method, _, names = name.removeprefix(PREFIX).partition(":")
    if method not in METHODS or not names:
        raise Refused(
            f"{name!r} is no calibrated confidence; write calibrated:METHOD:A with a method of {', '.join(METHODS)}, "
            "or calibrated:logistic:A+B."
        )
    return method, [variant_named(one) for one in names.split("+")]


def _confidences(cohort: Cohort, variants: Sequence[Variant]) -> Floats:
    return np.stack([cohort.of_items(variant.confidence) for variant in variants], axis=-1)


def _has_signals(cohort: Cohort, needs: frozenset[Signal]) -> Exact:
    """Without a statement of the model there is nothing to learn about its statements."""
    if Signal.VERBALIZED not in needs:
        return np.ones_like(cohort.is_scored)
    return np.asarray(cohort.of_items(lambda item: float(item.confidence is not None)) == 1)


def _applied(fitted: Fitted, variants: Sequence[Variant]) -> Confidence:
    def confidence(item: ItemScore) -> float:
        return float(fitted.probabilities(np.array([[variant.confidence(item) for variant in variants]]))[0])

    return confidence


def _errors(cohort: Cohort, confidence: Confidence) -> CalibrationErrors | None:
    """None without a score, or for a confidence that is no probability."""
    found = cohort.of_items(confidence)[cohort.is_scored]
    if not len(found) or np.any((found < 0) | (found > 1)):
        return None
    exact = cohort.errors[cohort.is_scored] == 0
    return CalibrationErrors(
        ece=expected_calibration_error(cohort, confidence=confidence),
        brier=brier(found, exact),
        log_loss=log_loss(found, exact),
    )
