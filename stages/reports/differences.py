"""Differences between two runs: metrics on common participants, items, settings, failures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from schemas.statuses import JobStatus
from schemas.values.differences import Difference, Flip, FlipKind, SettingDifference, Side
from schemas.values.measures import Measures
from schemas.values.phq8 import AssessmentMode, PHQ8Item
from schemas.values.scored_runs import ScoredJob, ScoredRun, SettingValue
from stages.metrics.bootstrap import paired_deltas
from stages.metrics.cohort import Metrics, together
from stages.metrics.confidence import variant_named
from stages.metrics.selective import Loss, areas
from stages.reports.results import cohort_of_jobs, ground_truth, headline_metrics, jobs_of
from stages.reports.words import notices


class RunInMode(NamedTuple):
    """One side of a comparison."""

    run: ScoredRun
    mode: AssessmentMode


def difference(left: RunInMode, right: RunInMode, *, measures: Measures) -> Difference:
    """Right compared with left. Raises Refused for a confidence that a side lacks the signals for."""
    left_jobs, right_jobs = (
        {job.participant_id: job for job in jobs_of(side.run, side.mode)} for side in (left, right)
    )
    both = sorted(left_jobs.keys() & right_jobs.keys())
    scored = [(left_jobs[key], right_jobs[key]) for key in both if left_jobs[key].scores and right_jobs[key].scores]
    flips = tuple(flip for pair in scored for flip in _flips(*pair))
    counts = Counter(flip.kind for flip in flips)
    left_cohort, right_cohort = (cohort_of_jobs(jobs.values()) for jobs in (left_jobs, right_jobs))
    (deltas,) = paired_deltas(
        scored_metrics(measures),
        left_cohort,
        right_cohort,
        resamples=measures.bootstrap_resamples,
        seed=measures.bootstrap_seed,
    )
    return Difference(
        left=_side(left, left_jobs),
        right=_side(right, right_jobs),
        common_participants=len(scored),
        confidence=measures.confidence,
        deltas=deltas,
        flips=flips,
        flip_counts={kind: counts[kind] for kind in FlipKind},
        settings=setting_differences(left.run.settings, right.run.settings),
        failed_in_left_only=tuple(key for key in both if _failed_alone(left_jobs[key], right_jobs[key])),
        failed_in_right_only=tuple(key for key in both if _failed_alone(right_jobs[key], left_jobs[key])),
        only_in_left=_sorted(left_jobs.keys() - right_jobs.keys()),
        only_in_right=_sorted(right_jobs.keys() - left_jobs.keys()),
    )


def scored_metrics(measures: Measures) -> Metrics:
    """The metrics that runs are compared in."""
    confidence, loss = variant_named(measures.confidence).confidence, Loss(measures.loss)
    headlines = together(headline_metrics(measures))
    return lambda cohort, draws: {
        **headlines(cohort, draws),
        **areas(cohort, draws, confidence=confidence, loss=loss),
    }


def _side(side: RunInMode, jobs: Mapping[int, ScoredJob]) -> Side:
    return Side(
        run_id=f"r{side.run.run_id}",
        mode=side.mode,
        participants=len(jobs),
        notices=tuple(notices("participant", side.run.profile, side.run.request)),
        origin=side.run.origin,
    )


def _flips(left: ScoredJob, right: ScoredJob) -> Iterator[Flip]:
    assert left.scores is not None and right.scores is not None
    truth = ground_truth(left.labels).items
    for item in PHQ8Item:
        before, after = left.scores.items[item].score, right.scores.items[item].score
        if before == after:
            continue
        true = None if truth is None else truth[item]
        yield Flip(
            participant_id=left.participant_id,
            item=item,
            kind=FlipKind.LOST if after is None else FlipKind.GAINED if before is None else FlipKind.CHANGED,
            left=before,
            right=after,
            truth=true,
            error_change=None
            if before is None or after is None or true is None
            else abs(after - true) - abs(before - true),
        )


def setting_differences(
    left: Mapping[str, SettingValue], right: Mapping[str, SettingValue]
) -> dict[str, SettingDifference]:
    """Settings with different values; their sources are not compared."""
    found = {}
    for name in dict.fromkeys([*left, *right]):
        before, after = (side[name].value if name in side else None for side in (left, right))
        if before != after:
            found[name] = SettingDifference(left=before, right=after)
    return found


def _failed_alone(one: ScoredJob, other: ScoredJob) -> bool:
    return one.status in (JobStatus.FAILED, JobStatus.POISONED) and other.scores is not None


def _sorted(participant_ids: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(participant_ids))
