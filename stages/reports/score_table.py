"""The scores of a run's participants beside the truth."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import StringIO
from statistics import fmean
from typing import Any

from schemas.statuses import JobStatus
from schemas.values.differences import Measures
from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.reports import Baseline, Baselines, Report
from schemas.values.scoring import ExperimentStatus, ItemScore, JobScores, ModeSummary, ScoreTable, Subject, item_errors
from stages.metrics.bootstrap import bootstrap_all, paired_deltas
from stages.metrics.scores import Cohort, Metric, item_mae, item_mae_weighted, together
from stages.reports.words import bounds


def score_table(run_id: int, jobs: Iterable[JobScores], baseline: Mapping[str, Any] | None = None) -> ScoreTable:
    """The table of a run: what is not scored or has no truth is None, never 0. `baseline` is that of its request."""
    modes = tuple(reversed(AssessmentMode))
    ordered = sorted(jobs, key=lambda job: (job.participant_id, modes.index(job.mode)))
    return ScoreTable(run_id=run_id, modes=tuple(reversed(mode_summaries(ordered, baseline))), scores=tuple(ordered))


def mode_summaries(jobs: Sequence[JobScores], baseline: Mapping[str, Any] | None = None) -> tuple[ModeSummary, ...]:
    """The modes of one run, zero-shot first; the figures are those of its report, to the last bit."""
    by_mode = {mode: [job for job in jobs if job.mode is mode] for mode in AssessmentMode}
    return tuple(_summary(mode, of_mode, baseline or {}) for mode, of_mode in by_mode.items() if of_mode)


def _summary(mode: AssessmentMode, jobs: Sequence[JobScores], baseline: Mapping[str, Any]) -> ModeSummary:
    scored = [job.scores for job in jobs if job.scores is not None]
    errors = [found for job in jobs if (found := item_errors(job.scores, job.truth))]
    compared = [error for of_one in errors for error in of_one]
    return ModeSummary(
        mode=mode,
        status=_status({job.status for job in jobs}),
        participants=len(jobs),
        scored=len(scored),
        compared=len(errors),
        mae=fmean(compared) if compared else None,
        coverage=len(compared) / (len(PHQ8Item) * len(errors)) if errors else None,
        compared_items=len(compared),
        na_items=sum(score is None for items in scored for score in items.values()),
        median_mae=_mae_of(baseline.get("median"), jobs),
        modal_mae=_mae_of(baseline.get("mode"), jobs),
    )


def _status(statuses: set[JobStatus]) -> ExperimentStatus:
    if any(status.is_open or status is JobStatus.PAUSED for status in statuses):
        return ExperimentStatus.UNFINISHED
    return ExperimentStatus.SUCCEEDED if statuses == {JobStatus.SUCCEEDED} else ExperimentStatus.FAILED


def _mae_of(fixed: Mapping[str, int] | None, jobs: Iterable[JobScores]) -> float | None:
    """The MAE of these scores, by evidence key, over the items that the mode scored."""
    if fixed is None:
        return None
    errors: list[int] = []
    for job in jobs:
        scores = {
            item: None if score is None else fixed[item.evidence_key] for item, score in (job.scores or {}).items()
        }
        errors += item_errors(scores, job.truth)
    return fmean(errors) if errors else None


def baselines(cohort: Cohort, request: Mapping[str, Any], *, measures: Measures) -> Baselines | None:
    """Those that the request of the run names, over the scored items of these participants."""
    record = request.get("baseline")
    if record is None:
        return None
    return Baselines(
        split=record["split"],
        participants=record["participants"],
        median=_baseline(cohort, record["median"], measures),
        mode=_baseline(cohort, record["mode"], measures),
    )


def always(cohort: Cohort, scores: Mapping[str, int]) -> Cohort:
    """The participants with these scores, by evidence key, wherever they have one."""

    def fixed(subject: Subject) -> dict[PHQ8Item, ItemScore]:
        found = {item: None if one.score is None else scores[item.evidence_key] for item, one in subject.items.items()}
        return {item: ItemScore(score=score) for item, score in found.items()}

    return Cohort(tuple(one.model_copy(update={"items": fixed(one)}) for one in cohort.subjects))


def by_name(found: Baselines | None) -> dict[str, Baseline]:
    """Baselines by what they always give, in words."""
    return {} if found is None else {f"median of {found.split}": found.median, f"mode of {found.split}": found.mode}


def baseline_remarks(report: Report) -> Iterator[str]:
    """A sentence for each mode that is not better than the median with an interval, in words."""
    for experiment in report.experiments:
        if (found := experiment.baselines) is None or found.median.difference.value is None:
            continue
        difference = found.median.difference
        if difference.high is None:
            why = "too few participants to say whether it is better than the median"
        elif difference.high >= 0:
            why = "not better than the median"
        else:
            continue
        yield f"{experiment.results.mode}: {why} of {found.split} ({difference.value:+.3f} {bounds(difference)})."


def _baseline(cohort: Cohort, scores: Mapping[str, int], measures: Measures) -> Baseline:
    fixed = always(cohort, scores)
    metrics: dict[str, Metric] = {"all": item_mae_weighted}
    metrics |= {item: partial(item_mae, item=item) for item in PHQ8Item}
    found = bootstrap_all(together(metrics), fixed, measures)
    deltas = paired_deltas(together({"all": item_mae_weighted}), fixed, cohort, measures)
    return Baseline(
        item_mae_weighted=found["all"],
        per_item={item: found[item] for item in PHQ8Item},
        difference=deltas["all"].delta,
    )


COLUMNS = (
    *("run", "data_set", "participant", "mode", "job", "status"),
    *PHQ8Item,
    *("total", "lowest_total", "highest_total", "mae"),
    *(f"truth_{item}" for item in PHQ8Item),
    "truth_total",
)


def score_csv(table: ScoreTable) -> str:
    """Strict CSV (RFC 4180): a cell is empty where there is no number."""
    written = StringIO()
    writer = csv.writer(written)
    writer.writerow(COLUMNS)
    for one in table.scores:
        scores, truth = ([(of or {}).get(item) for item in PHQ8Item] for of in (one.scores, one.truth))
        low, high = one.totals or (None, None)
        writer.writerow(
            (
                *(f"r{one.run_id}", one.data_set, one.participant_id, one.mode.value, f"j{one.job_id}"),
                *(one.status.value, *scores, low if low == high else None, low, high, one.mae),
                *(*truth, None if one.truth is None else sum(one.truth.values())),
            )
        )
    return written.getvalue()
