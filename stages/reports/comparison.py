"""Runs compared with the first of them, on the subjects that each has in common with it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from schemas.statuses import JobStatus
from schemas.values.differences import ComparedMeasure, ComparedRun, Comparison, Measures, Movement, RetrievalMeasures
from schemas.values.participants import AssessmentMode, PHQ8Item
from schemas.values.queries import QueryRun, RankedQuery
from schemas.values.reports import RankingStage
from schemas.values.runs import ScoredJob, ScoredRun, SettingValue
from schemas.values.scoring import Interval, ground_truth
from stages.metrics.bootstrap import LEVEL, mean_intervals, paired_deltas
from stages.metrics.confidence import variant_named
from stages.metrics.scores import Metrics
from stages.metrics.selective import areas, measure_names
from stages.reports.costs import tokens_by_job
from stages.reports.report import common_measures, measures_of
from stages.reports.results import cohort_of_jobs, headline_metrics
from stages.reports.retrieval import chunk_rankings, judged_queries, measured
from stages.reports.words import notices

#: What the subjects of a kind of run are.
SUBJECTS: Final = {"participant": "participants", "query": "queries"}


class _Side(NamedTuple):
    """A run of any kind, in one mode, with the jobs of its subjects."""

    run: ScoredRun | QueryRun
    jobs: Mapping[str, ScoredJob | RankedQuery]
    mode: str | None = None


def compare_scores(sides: Sequence[tuple[ScoredRun, AssessmentMode]], *, chosen: Mapping[str, Any]) -> Comparison:
    """Scored runs, each in a mode, on the participants that each and the first have scored. `chosen` are the measures
    that were chosen; the runs have the others. Raises Refused for runs that define a total or depression in two ways,
    and for a confidence that a run lacks the signals for."""
    by_run = [{str(job.participant_id): job for job in run.jobs_of(mode)} for run, mode in sides]
    cohorts = [cohort_of_jobs(jobs.values()) for jobs in by_run]
    first, *others = [_Side(run, jobs, mode.value) for (run, mode), jobs in zip(sides, by_run, strict=True)]
    level = 1 - (1 - LEVEL) / len(others)  # Bonferroni
    compared = []
    for (run, mode), side, cohort in zip(sides[1:], others, cohorts[1:], strict=True):
        measures = common_measures(sides[0][0], run, chosen)
        found = paired_deltas(scored_metrics(measures), cohorts[0], cohort, measures, level=level)
        found |= _tokens(first, side, measures, level)
        subjects = len(_succeeded(first, side))
        compared.append(_compared(first, side, subjects=subjects, measures={mode.value: found}))
    return _comparison(
        "participant",
        [first, *others],
        headline=others[0].mode,
        confidence=measures_of(first.run.settings, chosen).confidence,
        measured="score of an item",
        compared=tuple(compared),
        movements=_by_range(_item_movements(by_run)),
    )


Qualities = Mapping[str, Mapping[RankingStage, Mapping[str, float]]]
"""Query -> ranking -> measure."""


def compare_queries(runs: Sequence[QueryRun], *, measures: RetrievalMeasures) -> Comparison:
    """Runs of queries, in every ranking that each and the first have, on the queries that both have."""
    queries = [{query.key: query for query in run.queries} for run in runs]
    first, *others = [_Side(run, jobs) for run, jobs in zip(runs, queries, strict=True)]
    found = [measured(judged_queries(run), cutoff=measures.cutoff) for run in runs]
    stage = _last_common_stage(found)
    ndcg = measure_names(measures.cutoff)[0]
    level = 1 - (1 - LEVEL) / len(others)  # Bonferroni
    all_unlike: set[str] = set()
    compared = []
    for run, side, own, after in zip(runs[1:], others, queries[1:], found[1:], strict=True):
        common = [key for key in queries[0] if key in own]
        unlike = {key for key in common if queries[0][key].judgements != own[key].judgements}
        all_unlike |= unlike
        like = [key for key in common if key not in unlike]
        rankings = _rankings(like, (found[0], after), measures, level)
        for ranking, shares in _overlaps(runs[0], run, common, cutoff=measures.cutoff).items():
            rankings.setdefault(ranking, {})["overlap"] = _without_interval(shares)
        of_rankings = {ranking.value: rankings[ranking] for ranking in RankingStage if ranking in rankings}
        compared.append(
            _compared(
                first,
                side,
                subjects=len(common),
                measures=of_rankings | {"calls": _tokens(first, side, measures, level)},
                unlike_judgements=len(unlike),
            )
        )
    movements = [
        Movement(
            subject=key,
            values=tuple(of[key][stage][ndcg] for of in found),
            job_ids=tuple(of[key].job_id for of in queries),
        )
        for key in found[0]
        if stage is not None and key not in all_unlike and all(stage in of.get(key, {}) for of in found)
    ]
    return _comparison(
        "query",
        [first, *others],
        headline="" if stage is None else stage.value,
        measured=ndcg if stage is None else f"{ndcg} of {stage.value}",
        compared=tuple(compared),
        movements=_by_range(movements),
    )


def _rankings(
    keys: Sequence[str], found: tuple[Qualities, Qualities], measures: RetrievalMeasures, level: float
) -> dict[RankingStage, dict[str, ComparedMeasure]]:
    """The measures of each ranking that both have of some of these queries."""
    names = measure_names(measures.cutoff)
    pairs = {
        ranking: [
            tuple([of[key][ranking][name] for name in names] for of in found)
            for key in keys
            if all(ranking in of.get(key, {}) for of in found)
        ]
        for ranking in RankingStage
    }
    return {ranking: _means(names, of, measures, level) for ranking, of in pairs.items() if of}


def scored_metrics(measures: Measures) -> Metrics:
    """The metrics that runs are compared in."""
    confidence = variant_named(measures.confidence).confidence
    headlines = headline_metrics(measures)
    return lambda cohort, draws: {
        **headlines(cohort, draws),
        **areas(cohort, draws, confidence=confidence, loss=measures.loss),
    }


def _comparison(kind: str, sides: Sequence[_Side], **found: Any) -> Comparison:
    """With what is said of the runs of every kind."""
    runs = [side.run for side in sides]
    return Comparison(
        kind=kind,
        mode=sides[0].mode,
        runs=tuple(f"r{run.run_id}" for run in runs),
        settings=_settings([run.settings for run in runs]),
        notices={f"r{run.run_id}": tuple(notices(kind, run.profile, run.request)) for run in runs},
        origins={f"r{run.run_id}": run.origin for run in runs},
        **found,
    )


def _compared(first: _Side, side: _Side, **found: Any) -> ComparedRun:
    """With who is in one run alone, or failed in one alone."""
    run, base, own = side.run, first.jobs, side.jobs
    one_failed = [key for key in base if key in own and base[key].status.has_failed != own[key].status.has_failed]
    return ComparedRun(
        run_id=f"r{run.run_id}",
        mode=side.mode,
        failed=sum(job.status.has_failed or job.status is JobStatus.CANCELLED for job in own.values()),
        failed_alone=tuple(key for key in one_failed if own[key].status.has_failed),
        baseline_failed_alone=tuple(key for key in one_failed if base[key].status.has_failed),
        only_here=tuple(key for key in own if key not in base),
        missing=tuple(key for key in base if key not in own),
        **found,
    )


def _succeeded(first: _Side, side: _Side) -> list[str]:
    """The subjects that both finished."""
    finished = [{key for key, job in of.jobs.items() if job.status is JobStatus.SUCCEEDED} for of in (first, side)]
    return [key for key in first.jobs if key in finished[0] & finished[1]]


def _means(
    names: Sequence[str],
    pairs: Sequence[Sequence[Sequence[float]]],
    measures: Measures | RetrievalMeasures,
    level: float,
) -> dict[str, ComparedMeasure]:
    """Means over subjects of values, a column for each name, of the baseline and of a run."""
    # The mean of the differences is the difference of the means, in each resample too.
    deltas = [[after - before for before, after in zip(*pair, strict=True)] for pair in pairs]
    plain, corrected = (mean_intervals(deltas, measures, columns=len(names), level=one) for one in (LEVEL, level))
    return {
        name: ComparedMeasure(
            subjects=len(pairs),
            baseline=_mean([before[place] for before, _ in pairs]),
            value=_mean([after[place] for _, after in pairs]),
            delta=plain[place],
            corrected=corrected[place],
        )
        for place, name in enumerate(names)
    }


def _without_interval(shares: Sequence[float]) -> ComparedMeasure:
    """The mean share that a run has of the baseline's."""
    baseline = 1.0 if shares else None
    none = Interval(value=None, low=None, high=None, std=None, drop_rate=1.0, resamples=0)
    return ComparedMeasure(subjects=len(shares), baseline=baseline, value=_mean(shares), delta=none, corrected=none)


def _tokens(
    first: _Side, side: _Side, measures: Measures | RetrievalMeasures, level: float
) -> dict[str, ComparedMeasure]:
    """The tokens of the calls for a subject, whoever paid for them: what the gate calls `cost`."""
    before, after = tokens_by_job(first.run.calls), tokens_by_job(side.run.calls)
    pairs = [
        ([float(before[first.jobs[key].job_id])], [float(after[side.jobs[key].job_id])])
        for key in _succeeded(first, side)
    ]
    return _means(("tokens",), pairs, measures, level)


def _overlaps(left: QueryRun, right: QueryRun, keys: Sequence[str], *, cutoff: int) -> dict[RankingStage, list[float]]:
    """The share of passages that both have among the first ones, of each query, by ranking. A passage is a line of a
    document, so that copies of a corpus can be compared."""
    shares: dict[RankingStage, list[float]] = defaultdict(list)
    before, after = ({query.key: _first_passages(run, query, cutoff) for query in run.queries} for run in (left, right))
    for key in keys:
        for stage in before[key].keys() & after[key].keys():
            one, other = before[key][stage], after[key][stage]
            shares[stage].append(len(one & other) / max(len(one), len(other)) if one or other else 1.0)
    return shares


def _first_passages(run: QueryRun, query: RankedQuery, cutoff: int) -> dict[RankingStage, set[tuple[str, int]]]:
    return {
        stage: {(run.documents[id_], run.lines[id_]) for id_ in ranking[:cutoff] if id_ in run.documents}
        for stage, ranking in chunk_rankings(query)
    }


def headline_measures(found: Comparison) -> list[str]:
    """The measures that every run has beside the baseline, of the mode, or of the last common ranking."""
    of_runs = [run.measures.get(found.headline, {}) for run in found.compared]
    return [name for name in of_runs[0] if all(name in of for of in of_runs)] if of_runs else []


def _settings(runs: Sequence[Mapping[str, SettingValue]]) -> dict[str, tuple[Any, ...]]:
    found = {}
    for name in dict.fromkeys(name for run in runs for name in run):
        values = tuple(run[name].value if name in run else None for run in runs)
        if any(value != values[0] for value in values):
            found[name] = values
    return found


def _item_movements(by_run: Sequence[Mapping[str, ScoredJob]]) -> Iterator[Movement]:
    for person in sorted(by_run[0], key=int):
        jobs = [of[person] for of in by_run if person in of]
        scores = [job.scores.items for job in jobs if job.scores is not None]
        truth = ground_truth(by_run[0][person].labels)
        if len(scores) == len(by_run):
            yield from (
                Movement(
                    subject=person,
                    item=item.value,
                    truth=None if truth is None else truth[item],
                    values=tuple(of[item].score for of in scores),
                    job_ids=tuple(job.job_id for job in jobs),
                )
                for item in PHQ8Item
            )


def _by_range(movements: Iterable[Movement]) -> tuple[Movement, ...]:
    """Those that move, the largest range first; a value that is missing on one side counts as a move."""

    def width(movement: Movement) -> float:
        values = [value for value in movement.values if value is not None]
        return max(values) - min(values) if values else 0.0

    moving = [movement for movement in movements if len(set(movement.values)) > 1]
    return tuple(sorted(moving, key=lambda movement: -width(movement)))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _last_common_stage(found: Sequence[Mapping[str, Mapping[RankingStage, Any]]]) -> RankingStage | None:
    of_runs = [{stage for query in of.values() for stage in query} for of in found]
    common = set.intersection(*of_runs) if of_runs else set()
    return next((stage for stage in reversed(RankingStage) if stage in common), None)
