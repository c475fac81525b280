"""The tables and the numbers of a scored run."""

from collections.abc import Callable, Iterator

from cli.paper.table import PaperTable, noticed, percent_with_interval, with_interval
from cli.report_table import calibrated_on, exclusions, models, predicted_metrics
from schemas.values.phq8 import PHQ8Item
from schemas.values.reports import Experiment, Report
from stages.reports.score_table import baseline_remarks, by_name
from stages.reports.words import definitions, interval_words, origin_words

_OF_MODES: dict[str, Callable[[Experiment], str]] = {
    "Participants": lambda one: str(one.results.total_subjects),
    "Evaluated participants": lambda one: str(one.results.evaluated_subjects),
    "MAE (weighted)": lambda one: with_interval(one.results.intervals["item_mae_weighted"]),
    "MAE (by item)": lambda one: with_interval(one.results.intervals["item_mae_by_item"]),
    "MAE (by subject)": lambda one: with_interval(one.results.intervals["item_mae_by_subject"]),
    "Coverage (%)": lambda one: percent_with_interval(one.results.intervals["prediction_coverage"]),
    "Cmax (%)": lambda one: percent_with_interval(one.selective_prediction.cmax),
    "AURC": lambda one: with_interval(one.selective_prediction.chosen.aurc),
    "AUGRC": lambda one: with_interval(one.selective_prediction.chosen.augrc),
}


def report_tables(report: Report) -> list[PaperTable]:
    """The metrics of each mode, the error of each item, and the risk at each coverage; a column per mode."""
    modes = tuple(experiment.results.mode.value for experiment in report.experiments)
    run = report.run_metadata
    notes = (
        _made_of(report),
        *exclusions(report),
        *baseline_remarks(report),
        *noticed(run.notices),
        *origin_words(run.origin),
    )
    return [
        PaperTable(
            f"Results of run {run.run_id}",
            ("Metric", *modes),
            (
                *((name, *map(show, report.experiments)) for name, show in _OF_MODES.items()),
                *_baselines(report),
                *_predictions(report),
            ),
            notes,
        ),
        PaperTable(
            f"Mean absolute error per item of run {run.run_id}",
            ("Item", *(column for mode in modes for column in (mode, f"{mode} n"))),
            tuple((item.value, *_of_item(report, item)) for item in PHQ8Item),
            ("n: participants with a score for the item.", *notes),
        ),
        PaperTable(
            f"Selective risk of run {run.run_id} at coverages",
            ("Coverage", *modes),
            tuple(_at_coverage(report, f"{coverage:g}") for coverage in report.measures.coverage_grid),
            ("Risk: mean loss of the most confident items, at the first step that reaches the coverage.", *notes),
        ),
    ]


def _baselines(report: Report) -> Iterator[tuple[str, ...]]:
    """The errors of the median and of the mode of the training split, and those of the modes less them."""
    of_modes = [by_name(experiment.baselines) for experiment in report.experiments]
    for name in dict.fromkeys(name for of_mode in of_modes for name in of_mode):
        yield f"MAE of the {name}", *(with_interval(found[name].item_mae_weighted) for found in of_modes)
        yield f"MAE less that of the {name}", *(with_interval(found[name].difference) for found in of_modes)


def _predictions(report: Report) -> Iterator[tuple[str, ...]]:
    """The metrics of totals, or of depressed or not, if the run or an option asks for them."""
    mode = report.measures.prediction_mode
    for name, metric in predicted_metrics(report.measures).items():
        yield f"{mode}: {name}", *(with_interval(one.results.intervals[metric]) for one in report.experiments)


def _of_item(report: Report, item: PHQ8Item) -> Iterator[str]:
    for experiment in report.experiments:
        found = experiment.results.per_item[item]
        yield with_interval(found.mae_interval)
        yield str(found.count)


def _at_coverage(report: Report, coverage: str) -> tuple[str, ...]:
    found = (one.selective_prediction.chosen.risk_at_coverage[coverage].risk for one in report.experiments)
    return coverage, *map(with_interval, found)


def _made_of(report: Report) -> str:
    run, measures = report.run_metadata, report.measures
    calibrated = [experiment.calibrated for experiment in report.experiments]
    split = report.experiments[0].provenance.subjects
    indexes = dict.fromkeys(one.in_words for each in report.experiments for one in each.provenance.reference_indexes)
    return (
        f"ragq {run.ragq_version}, run {run.run_id} of {split}, profile {run.profile}, {models(report)}. Intervals: "
        f"{interval_words(report)}. Items are ordered by confidence {measures.confidence}, with loss {measures.loss}"
        f"; {definitions(measures)}."
        + "".join(f" References are of index {words}." for words in indexes)
        + "".join(sorted({f" It was calibrated on {calibrated_on(found)}." for found in calibrated if found}))
    )
