"""A mode of a run beside scores that take nothing from a transcript."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from schemas.values.measures import Measures
from schemas.values.metrics import Interval
from schemas.values.phq8 import PHQ8Item
from schemas.values.reports import Baseline, Baselines, Report
from schemas.values.scoring import ItemScore, Subject
from stages.metrics.bootstrap import bootstrap_all, paired_deltas
from stages.metrics.cohort import Cohort, cohort_of
from stages.metrics.draws import Metric, together
from stages.metrics.mae import item_mae_weighted
from stages.metrics.per_item import item_mae
from stages.reports.numbers_in_words import bounds, number


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
    return cohort_of(
        Subject(
            participant_id=subject.participant_id,
            truth=subject.truth,
            items={
                item: ItemScore(score=None if one.score is None else scores[item.evidence_key])
                for item, one in subject.items.items()
            },
        )
        for subject in cohort.subjects
    )


def by_name(found: Baselines | None) -> dict[str, Baseline]:
    """Baselines by what they always give, in words."""
    return {} if found is None else {f"median of {found.split}": found.median, f"mode of {found.split}": found.mode}


def baseline_remarks(report: Report) -> list[str]:
    """A sentence for each mode that is not better than the median with an interval, in words."""
    remarks = []
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
        remarks.append(f"{experiment.results.mode}: {why} of {found.split} ({signed(difference)}).")
    return remarks


def signed(difference: Interval) -> str:
    """A difference with its sign and its interval.

    >>> signed(Interval(value=-0.0884, low=-0.192, high=0.012, std=0.05, drop_rate=0.0, resamples=10))
    '-0.088 [-0.192, 0.012]'
    """
    sign = "+" if difference.value is not None and difference.value > 0 else ""
    return f"{sign}{number(difference.value)} {bounds(difference)}".rstrip()


def _baseline(cohort: Cohort, scores: Mapping[str, int], measures: Measures) -> Baseline:
    fixed = always(cohort, scores)
    resamples, seed = measures.bootstrap_resamples, measures.bootstrap_seed
    metrics: dict[str, Metric] = {"all": item_mae_weighted}
    metrics |= {item: partial(item_mae, item=item) for item in PHQ8Item}
    found = bootstrap_all(together(metrics), fixed, resamples=resamples, seed=seed)
    (deltas,) = paired_deltas(together({"all": item_mae_weighted}), fixed, cohort, resamples=resamples, seed=seed)
    return Baseline(
        item_mae_weighted=found["all"],
        per_item={item: found[item] for item in PHQ8Item},
        difference=deltas["all"].delta,
    )
