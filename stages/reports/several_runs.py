"""Several runs compared with the first of them, on the subjects that each has in common with it."""

import csv
import io
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from schemas.errors import Refused
from schemas.statuses import JobStatus
from schemas.values.differences import (
    BestRun,
    ComparedMeasure,
    ComparedRun,
    Measures,
    Movement,
    RetrievalMeasures,
    SeveralRuns,
)
from schemas.values.metrics import Interval
from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.queries import QueryRun
from schemas.values.retrieval_reports import RankingStage
from schemas.values.runs import ScoredJob, ScoredRun, SettingValue
from schemas.values.tags import ValidatedTags
from stages.metrics.bootstrap import LEVEL, mean_intervals, paired_deltas
from stages.metrics.selective import measure_names
from stages.reports.differences import scored_metrics
from stages.reports.report import common_measures
from stages.reports.results import cohort_of_jobs, ground_truth, jobs_of
from stages.reports.retrieval import judged_queries, measured
from stages.reports.words import notices

_UNSUCCESSFUL: Final = (JobStatus.FAILED, JobStatus.POISONED, JobStatus.CANCELLED)

#: What is shown of the measures of a kind of run unless others are named.
SHOWN: Final = {
    "participant": ("item_mae_weighted", "prediction_coverage", "aurc"),
    "tags": ("candidates", "overlap"),
}

#: Measures of which less is better; of any other more is.
_LOWER_IS_BETTER: Final = (
    *("item_mae_weighted", "item_mae_by_item", "item_mae_by_subject", "total_mae", "total_rmse", "aurc", "augrc"),
)

_NO_INTERVAL: Final = Interval(value=None, low=None, high=None, std=None, drop_rate=1.0, resamples=0)


@dataclass(frozen=True)
class TagsSet:
    """The candidates of one phrase set."""

    job_id: int
    subject: str
    status: JobStatus
    validated: ValidatedTags | None


@dataclass(frozen=True)
class TagsRun:
    """A run of phrases, as comparisons read it."""

    run_id: int
    profile: str
    request: Mapping[str, Any]
    settings: Mapping[str, SettingValue]
    sets: tuple[TagsSet, ...]


def corrected_level(comparisons: int) -> float:
    """The confidence of each of several intervals that hold together with 95 % confidence (Bonferroni).

    >>> corrected_level(1), round(corrected_level(5), 4)
    (0.95, 0.99)
    """
    return 1 - (1 - LEVEL) / max(comparisons, 1)


def several_scored(
    runs: Sequence[ScoredRun],
    mode: AssessmentMode,
    *,
    chosen: Mapping[str, Any],
    only: Collection[int] | None = None,
    split: str | None = None,
) -> SeveralRuns:
    """Scored runs in one mode; with `only`, on these participants alone."""
    by_run = [
        {job.participant_id: job for job in jobs_of(run, mode) if only is None or job.participant_id in only}
        for run in runs
    ]
    level = corrected_level(len(runs) - 1)
    base = cohort_of_jobs(by_run[0].values())
    compared = []
    for run, found in zip(runs[1:], by_run[1:], strict=True):
        measures: Measures = common_measures(runs[0], run, chosen)
        cohort = cohort_of_jobs(found.values())
        deltas, corrected = paired_deltas(
            scored_metrics(measures),
            base,
            cohort,
            resamples=measures.bootstrap_resamples,
            seed=measures.bootstrap_seed,
            levels=(LEVEL, level),
        )
        compared.append(
            ComparedRun(
                run_id=f"r{run.run_id}",
                settings=_own_settings(runs[0].settings, run.settings),
                measures={
                    name: ComparedMeasure(
                        subjects=plain.participants,
                        baseline=plain.left,
                        value=plain.right,
                        delta=plain.delta,
                        corrected=corrected[name].delta,
                    )
                    for name, plain in deltas.items()
                },
                failed=sum(job.status in _UNSUCCESSFUL for job in found.values()),
                notices=tuple(notices("participant", run.profile, run.request)),
            )
        )
    return SeveralRuns(
        kind="participant",
        mode=mode.value,
        runs=tuple(f"r{run.run_id}" for run in runs),
        comparisons=len(runs) - 1,
        subjects_of=split,
        measured="score of an item",
        settings=_settings([run.settings for run in runs]),
        baseline_notices=tuple(notices("participant", runs[0].profile, runs[0].request)),
        compared=tuple(compared),
        movements=_by_range(_item_movements(by_run)),
    )


def several_queries(runs: Sequence[QueryRun], *, measures: RetrievalMeasures) -> SeveralRuns:
    """Runs of queries, on the last ranking that all of them have."""
    found = [measured(judged_queries(run), cutoff=measures.cutoff) for run in runs]
    unlike = _unlike_judgements(runs)
    stage = _last_common_stage(found)
    names = measure_names(measures.cutoff)
    level = corrected_level(len(runs) - 1)
    compared = []
    for run, after in zip(runs[1:], found[1:], strict=True):
        keys = [key for key in found[0] if key in after and key not in unlike]
        pairs = [
            (found[0][key][stage], after[key][stage])
            for key in keys
            if stage is not None and stage in found[0][key] and stage in after[key]
        ]
        intervals = partial(
            mean_intervals,
            [[new[name] - old[name] for name in names] for old, new in pairs],
            columns=len(names),
            resamples=measures.bootstrap_resamples,
            seed=measures.bootstrap_seed,
        )
        compared.append(
            ComparedRun(
                run_id=f"r{run.run_id}",
                settings=_own_settings(runs[0].settings, run.settings),
                measures={
                    name: ComparedMeasure(
                        subjects=len(pairs),
                        baseline=sum(old[name] for old, _ in pairs) / len(pairs) if pairs else None,
                        value=sum(new[name] for _, new in pairs) / len(pairs) if pairs else None,
                        delta=plain,
                        corrected=corrected,
                    )
                    for name, plain, corrected in zip(names, intervals(), intervals(level=level), strict=True)
                },
                failed=sum(query.status in _UNSUCCESSFUL for query in run.queries),
                notices=tuple(notices("query", run.profile, run.request)),
            )
        )
    jobs = [{query.key: query.job_id for query in run.queries} for run in runs]
    movements = [
        Movement(
            subject=key,
            values=tuple(
                of[key][stage][names[0]] if stage is not None and key in of and stage in of[key] else None
                for of in found
            ),
            job_ids=tuple(of.get(key) for of in jobs),
        )
        for key in found[0]
    ]
    return SeveralRuns(
        kind="query",
        mode=None,
        runs=tuple(f"r{run.run_id}" for run in runs),
        comparisons=len(runs) - 1,
        measured=names[0] if stage is None else f"{names[0]} of {stage.value}",
        settings=_settings([run.settings for run in runs]),
        baseline_notices=tuple(notices("query", runs[0].profile, runs[0].request)),
        compared=tuple(compared),
        movements=_by_range(movements),
    )


def several_tags(runs: Sequence[TagsRun], *, resamples: int, seed: int) -> SeveralRuns:
    """Runs of phrases: how many candidates, and how many of them are the baseline's."""
    by_run = [{of.subject: of for of in run.sets} for run in runs]
    tags = [{key: _tags(of.validated) for key, of in found.items() if of.validated is not None} for found in by_run]
    level = corrected_level(len(runs) - 1)
    compared = []
    for run, found in zip(runs[1:], tags[1:], strict=True):
        keys = [key for key in tags[0] if key in found]
        intervals = partial(
            mean_intervals,
            [[float(len(found[key]) - len(tags[0][key]))] for key in keys],
            columns=1,
            resamples=resamples,
            seed=seed,
        )
        (plain,), (corrected,) = intervals(), intervals(level=level)
        overlaps = [_overlap(tags[0][key], found[key]) for key in keys]
        compared.append(
            ComparedRun(
                run_id=f"r{run.run_id}",
                settings=_own_settings(runs[0].settings, run.settings),
                measures={
                    "candidates": ComparedMeasure(
                        subjects=len(keys),
                        baseline=_mean([float(len(tags[0][key])) for key in keys]),
                        value=_mean([float(len(found[key])) for key in keys]),
                        delta=plain,
                        corrected=corrected,
                    ),
                    "overlap": ComparedMeasure(
                        subjects=len(keys),
                        baseline=1.0 if keys else None,
                        value=_mean(overlaps),
                        delta=_NO_INTERVAL,
                        corrected=_NO_INTERVAL,
                    ),
                },
                failed=sum(of.status in _UNSUCCESSFUL for of in run.sets),
                notices=tuple(notices("tags", run.profile, run.request)),
            )
        )
    return SeveralRuns(
        kind="tags",
        mode=None,
        runs=tuple(f"r{run.run_id}" for run in runs),
        comparisons=len(runs) - 1,
        measured="number of candidates",
        settings=_settings([run.settings for run in runs]),
        compared=tuple(compared),
        movements=tuple(_tag_movements(by_run, tags)),
    )


def best_of(found: SeveralRuns, measure: str, *, chosen_on: str | None = None) -> BestRun | None:
    """The run with the best value of a measure, the baseline included; None where no run has it.

    Raises Refused for a measure that the runs do not have.
    """
    known = list(found.compared[0].measures) if found.compared else []
    if measure not in known:
        raise Refused(f"There is no measure '{measure}' of these runs. There are: {', '.join(known)}.")
    measures = [(run.run_id, run.measures[measure]) for run in found.compared]
    values = {
        run_id: (of.value, of.baseline) for run_id, of in measures if of.value is not None and of.baseline is not None
    }
    if not values:
        return None
    sign = -1 if measure in _LOWER_IS_BETTER else 1
    best = max(values, key=lambda run_id: sign * values[run_id][0])
    value, baseline = values[best]
    is_better = sign * value > sign * baseline
    run_id, best_value = (best, value) if is_better else (found.runs[0], baseline)
    return BestRun(
        run_id=run_id,
        measure=measure,
        value=best_value,
        baseline=baseline,
        is_better=is_better,
        as_good=tuple(one for one, (found_value, _) in values.items() if found_value == best_value and one != run_id),
        chosen_on=chosen_on,
    )


def default_measure(found: SeveralRuns) -> str:
    """The measure that a sweep is judged by unless another is named."""
    return shown_measures(found)[0]


def shown_measures(found: SeveralRuns) -> tuple[str, ...]:
    """The measures that are shown unless others are named: of queries all."""
    of_kind = SHOWN.get(found.kind)
    return of_kind or (tuple(found.compared[0].measures) if found.compared else ())


def _settings(runs: Sequence[Mapping[str, SettingValue]]) -> dict[str, tuple[Any, ...]]:
    found = {}
    for name in dict.fromkeys(name for run in runs for name in run):
        values = tuple(run[name].value if name in run else None for run in runs)
        if any(value != values[0] for value in values):
            found[name] = values
    return found


def _own_settings(base: Mapping[str, SettingValue], own: Mapping[str, SettingValue]) -> dict[str, Any]:
    return {name: found.value for name, found in own.items() if name not in base or base[name].value != found.value}


def _item_movements(by_run: Sequence[Mapping[int, ScoredJob]]) -> list[Movement]:
    found = []
    for person in sorted(by_run[0]):
        jobs = [of.get(person) for of in by_run]
        truth = ground_truth(by_run[0][person].labels).items
        for item in PHQ8Item:
            values = tuple(None if job is None or job.scores is None else job.scores.items[item].score for job in jobs)
            found.append(
                Movement(
                    subject=str(person),
                    item=item.value,
                    truth=None if truth is None else truth[item],
                    values=values,
                    job_ids=tuple(None if job is None else job.job_id for job in jobs),
                )
            )
    return found


def _tag_movements(
    by_run: Sequence[Mapping[str, TagsSet]], tags: Sequence[Mapping[str, tuple[str, ...]]]
) -> list[Movement]:
    found = []
    for key in by_run[0]:
        own = [set(of[key]) if key in of else None for of in tags]
        base = own[0]
        changes = tuple("" if base is None or of is None else _change(base, of) for of in own)
        if any(changes) or any((of is None) != (base is None) for of in own):
            found.append(
                Movement(
                    subject=key,
                    values=tuple(None if of is None else float(len(of)) for of in own),
                    changes=changes,
                    job_ids=tuple(of[key].job_id if key in of else None for of in by_run),
                )
            )
    return found


def _change(before: set[str], after: set[str]) -> str:
    """What is more and what is less.

    >>> _change({"hat", "shirt"}, {"hat", "dress"})
    '+dress -shirt'
    """
    return " ".join([*(f"+{tag}" for tag in sorted(after - before)), *(f"-{tag}" for tag in sorted(before - after))])


def _by_range(movements: Sequence[Movement]) -> tuple[Movement, ...]:
    """Those that move, the largest range first; a value that is missing on one side counts as a move."""

    def width(movement: Movement) -> float:
        values = [value for value in movement.values if value is not None]
        return max(values) - min(values) if values else 0.0

    moving = [movement for movement in movements if len(set(movement.values)) > 1]
    return tuple(sorted(moving, key=lambda movement: -width(movement)))


def _tags(validated: ValidatedTags | None) -> tuple[str, ...]:
    return () if validated is None else tuple(candidate.tag for candidate in validated.candidates)


def _overlap(left: Sequence[str], right: Sequence[str]) -> float:
    union = {*left, *right}
    return len({*left} & {*right}) / len(union) if union else 1.0


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _last_common_stage(found: Sequence[Mapping[str, Mapping[RankingStage, Any]]]) -> RankingStage | None:
    of_runs = [{stage for query in of.values() for stage in query} for of in found]
    common = set.intersection(*of_runs) if of_runs else set()
    return next((stage for stage in reversed(RankingStage) if stage in common), None)


def _unlike_judgements(runs: Sequence[QueryRun]) -> set[str]:
    """Queries that are judged otherwise in some run: they are in no difference."""
    judged = [{query.key: query.judgements for query in run.queries} for run in runs]
    return {key for key in judged[0] for of in judged[1:] if key in of and of[key] != judged[0][key]}


_COLUMNS = (
    *("run", "baseline_run", "mode", "split", "measure", "subjects", "baseline", "value"),
    *("delta", "low", "high", "corrected_low", "corrected_high", "comparisons", "failed", "settings"),
)


def several_csv(found: Sequence[SeveralRuns]) -> str:
    """The measures of every run; `settings` is a JSON object of its values that differ from the baseline's."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for one in found:
        for run in one.compared:
            for name, measure in run.measures.items():
                interval, corrected = measure.delta, measure.corrected
                rows.writerow(
                    [
                        *(run.run_id, one.runs[0], one.mode or "", one.subjects_of or "", name, measure.subjects),
                        *map(_cell, (measure.baseline, measure.value, interval.value, interval.low, interval.high)),
                        *map(_cell, (corrected.low, corrected.high)),
                        *(one.comparisons, run.failed, json.dumps(run.settings, sort_keys=True)),
                    ]
                )
    return written.getvalue()


def _cell(value: float | None) -> str:
    return "" if value is None else repr(value)
