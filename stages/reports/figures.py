"""The main figures of runs from item scores alone."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev

from schemas.statuses import JobStatus
from schemas.values.figures import Draw, ExperimentStatus, JobScores, ModeDraws, ModeFigures, SiblingRun, Spread
from schemas.values.phq8 import AssessmentMode, PHQ8Item
from stages.reports.ground_truth import ground_truth


def mode_figures(jobs: Iterable[JobScores]) -> tuple[ModeFigures, ...]:
    """The figures of each mode of one run, zero-shot first; those of its report, to the last bit."""
    by_mode: dict[AssessmentMode, list[JobScores]] = {}
    for job in jobs:
        by_mode.setdefault(job.mode, []).append(job)
    return tuple(_figures(mode, by_mode[mode]) for mode in AssessmentMode if mode in by_mode)


def draws_of(siblings: Sequence[SiblingRun]) -> tuple[ModeDraws, ...]:
    """The draws of each mode; nothing for a run without siblings."""
    if len(siblings) < 2:
        return ()
    ordered = sorted(siblings, key=lambda sibling: sibling.draw)
    modes = {figures.mode for sibling in ordered for figures in sibling.modes}
    return tuple(_draws(mode, ordered) for mode in AssessmentMode if mode in modes)


def _figures(mode: AssessmentMode, jobs: Sequence[JobScores]) -> ModeFigures:
    evaluated = [errors for job in jobs if (errors := item_errors(job.scores, ground_truth(job.labels).items))]
    scored_items = sum(map(len, evaluated))
    return ModeFigures(
        mode=mode,
        status=_status({job.status for job in jobs}),
        participants=len(jobs),
        evaluated=len(evaluated),
        item_mae_weighted=sum(map(sum, evaluated)) / scored_items if evaluated else None,
        prediction_coverage=scored_items / (len(PHQ8Item) * len(evaluated)) if evaluated else None,
    )


def item_errors(scores: Mapping[PHQ8Item, int | None] | None, truth: Mapping[PHQ8Item, int] | None) -> list[int]:
    """|score - truth| of the items that have both."""
    if scores is None or truth is None:
        return []
    return [abs(score - truth[item]) for item, score in scores.items() if score is not None]


def _status(statuses: set[JobStatus]) -> ExperimentStatus:
    if any(status.is_open or status is JobStatus.PAUSED for status in statuses):
        return ExperimentStatus.UNFINISHED
    return ExperimentStatus.SUCCEEDED if statuses == {JobStatus.SUCCEEDED} else ExperimentStatus.FAILED


def _draws(mode: AssessmentMode, siblings: Sequence[SiblingRun]) -> ModeDraws:
    draws = tuple(
        Draw(
            run_id=f"r{sibling.run_id}",
            draw=sibling.draw,
            evaluated=figures.evaluated,
            item_mae_weighted=figures.item_mae_weighted,
            prediction_coverage=figures.prediction_coverage,
        )
        for sibling in siblings
        for figures in sibling.modes
        if figures.mode is mode
    )
    return ModeDraws(
        mode=mode,
        draws=draws,
        item_mae_weighted=_spread([draw.item_mae_weighted for draw in draws]),
        prediction_coverage=_spread([draw.prediction_coverage for draw in draws]),
    )


def _spread(values: Iterable[float | None]) -> Spread:
    known = [value for value in values if value is not None]
    return Spread(mean=fmean(known) if known else None, std=stdev(known) if len(known) > 1 else None)
