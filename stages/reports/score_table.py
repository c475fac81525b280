"""The scores of a run's participants beside the truth."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from schemas.values.figures import JobScores
from schemas.values.phq8 import ITEM_SCORES, AssessmentMode, PHQ8Item
from schemas.values.score_tables import ModeScores, ModeSummary, ParticipantRow, ScoreTable
from stages.reports.figures import item_errors
from stages.reports.ground_truth import ground_truth

_COLUMNS = (AssessmentMode.FEW_SHOT, AssessmentMode.ZERO_SHOT)

Truth = dict[PHQ8Item, int] | None


def score_table(run_id: int, jobs: Iterable[JobScores], baseline: Mapping[str, Any] | None = None) -> ScoreTable:
    """The table of a run: what is not scored or has no truth is None, never 0. `baseline` is that of its request."""
    by_participant: dict[int, list[JobScores]] = {}
    data_set = None
    for job in sorted(jobs, key=lambda job: job.participant_id):
        by_participant.setdefault(job.participant_id, []).append(job)
        data_set = job.data_set
    rows = [_row(participant_id, of_one) for participant_id, of_one in by_participant.items()]
    present = [mode for mode in _COLUMNS if any(mode in row.modes for row in rows)]
    modes = tuple(_summary(mode, rows, baseline or {}) for mode in present)
    return ScoreTable(run_id=run_id, data_set=data_set, modes=modes, participants=tuple(rows))


def _row(participant_id: int, jobs: Sequence[JobScores]) -> ParticipantRow:
    truth = ground_truth(jobs[0].labels).items
    by_mode = {job.mode: job for job in jobs}
    return ParticipantRow(
        participant_id=participant_id,
        truth=truth,
        truth_total=None if truth is None else sum(truth.values()),
        modes={mode: _scores(by_mode[mode], truth) for mode in _COLUMNS if mode in by_mode},
    )


def _scores(job: JobScores, truth: Truth) -> ModeScores:
    lowest, highest = (None, None) if job.scores is None else _bounds(job.scores.values())
    errors = item_errors(job.scores, truth)
    return ModeScores(
        job_id=job.job_id,
        status=job.status,
        items=job.scores,
        total=lowest if lowest == highest else None,
        lowest_total=lowest,
        highest_total=highest,
        mae=fmean(errors) if errors else None,
    )


def _bounds(scores: Collection[int | None]) -> tuple[int, int]:
    """The sum with every N/A as the lowest, and as the highest score."""
    known = [score for score in scores if score is not None]
    return sum(known), sum(known) + ITEM_SCORES[-1] * (len(scores) - len(known))


def _summary(mode: AssessmentMode, rows: Sequence[ParticipantRow], baseline: Mapping[str, Any]) -> ModeSummary:
    submitted = [(row.modes[mode], row.truth) for row in rows if mode in row.modes]
    scored = [scores.items for scores, _ in submitted if scores.items is not None]
    errors = [item_errors(scores.items, truth) for scores, truth in submitted]
    compared = [error for of_one in errors for error in of_one]
    return ModeSummary(
        mode=mode,
        participants=len(submitted),
        scored=len(scored),
        compared=sum(1 for of_one in errors if of_one),
        mae=fmean(compared) if compared else None,
        compared_items=len(compared),
        na_items=sum(score is None for items in scored for score in items.values()),
        median_mae=_mae_of(baseline.get("median"), submitted),
        modal_mae=_mae_of(baseline.get("mode"), submitted),
    )


def _mae_of(scores: Mapping[str, int] | None, submitted: Sequence[tuple[ModeScores, Truth]]) -> float | None:
    """The MAE of these scores, by evidence key, over the items that the mode scored."""
    errors = [
        abs(scores[item.evidence_key] - truth[item])
        for of_one, truth in submitted
        for item, score in (of_one.items or {}).items()
        if scores is not None and truth is not None and score is not None
    ]
    return fmean(errors) if errors else None
