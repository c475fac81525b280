"""A report in the terminal."""

from collections.abc import Mapping

from rich.console import Group

from cli.config import changed_line, changes
from cli.output import Drawing, FittingTable, Text, figure_table, spaced
from cli.run_table import cost_lines, origin_lines
from schemas.values.differences import Measures
from schemas.values.evaluations import EvaluationReport
from schemas.values.metrics import Interval, ModeDraws
from schemas.values.participants import PHQ8Item
from schemas.values.reports import CalibratedConfidence, Experiment, Report, StageTelemetry
from stages.reports.evaluation import MEASURES, evaluation_remarks
from stages.reports.numbers_in_words import bounds, counted, counts_or_none, duration, number, percent, percent_bounds
from stages.reports.report import over_all_items
from stages.reports.score_table import baseline_remarks, by_name
from stages.reports.words import definitions, interval_words

_TOTAL = {"MAE": "total_mae", "RMSE": "total_rmse", "r": "total_pearson_r", "severity band": "severity_accuracy"}
_BINARY = {
    "accuracy": "binary_accuracy",
    "precision": "binary_precision",
    "recall": "binary_recall",
    "F1": "binary_f1",
    "AUROC": "binary_auroc",
}


def predicted_metrics(measures: Measures) -> dict[str, str]:
    """The metrics of the prediction mode by their short names; none in the mode `item`."""
    return {"total": _TOTAL, "binary": _BINARY}.get(measures.prediction_mode, {})


def prediction_tables(report: Report) -> list[FittingTable]:
    """One table in the mode `total` or `binary`; none in the mode `item`, since a report always shows the items."""
    match report.measures.prediction_mode:
        case "total":
            return [_table(report, "total", _TOTAL)]
        case "binary":
            return [_table(report, f"total of {report.measures.binary_threshold} or more", _BINARY)]
    return []


def _table(report: Report, what: str, metrics: dict[str, str]) -> FittingTable:
    table = figure_table(what, "predicted", *(name for metric in metrics for name in (metric, "95 %")))
    for experiment in report.experiments:
        results = experiment.results
        found = results.total_metrics if metrics is _TOTAL else results.binary_metrics
        intervals = [results.intervals[name] for name in metrics.values()]
        cells = [cell for interval in intervals for cell in (number(interval.value), bounds(interval))]
        table.add_row(results.mode, f"{found.predicted} of {found.subjects}", *cells)
    return table


def report_table(report: Report) -> Drawing:
    """Head, one line per mode, items, confidences, and what is still wrong."""
    parts = [
        _head(report),
        _modes(report),
        *(Text(line, style="yellow") for line in exclusions(report)),
        *_baselines(report),
        *prediction_tables(report),
        _items(report),
    ]
    if any(experiment.selective_prediction.by_confidence for experiment in report.experiments):
        parts += [_confidences(report), _risks(report)]
    if any(experiment.calibrated for experiment in report.experiments):
        parts.append(_calibrated(report))
    parts += [_draws(found) for found in report.draws]
    parts += _references(report)
    if any(experiment.telemetry for experiment in report.experiments):
        parts.append(telemetry_table({one.results.mode: one.telemetry for one in report.experiments}))
    if report.failures.total:
        parts.append(failure_table(report.failures.by_category, counted="count"))
    parts.append(cost_lines(report.timings.cost))
    parts.append(Group(*origin_lines(report.run_metadata.origin)))
    return spaced(parts)


def failure_table(by_category: Mapping[str, int], *, counted: str) -> FittingTable:
    """Failures by category. `counted` is the heading of the numbers."""
    table = figure_table("failures", counted)
    for category, count in by_category.items():
        table.add_row(category, str(count))
    return table


def _head(report: Report) -> Drawing:
    run = report.run_metadata
    split = report.experiments[0].provenance.subjects
    lines = [Text.assemble((run.run_id, "bold"), f"  {split}  profile {run.profile}  {models(report)}")]
    lines += [Text(notice, style="yellow") for notice in run.notices]
    indexes = dict.fromkeys(one.in_words for each in report.experiments for one in each.provenance.reference_indexes)
    lines += [Text(f"references of index {words}", style="dim") for words in indexes]
    measures = report.measures
    lines.append(
        Text(
            f"confidence {measures.confidence}, loss {measures.loss}, {interval_words(report)}",
            style="dim",
        )
    )
    lines.append(Text(definitions(measures), style="dim"))
    settings = {name: one.model_dump() for name, one in report.settings.items()}
    if changed := changes("participant", run.profile, settings):
        lines.append(changed_line(changed, profile=run.profile, run=run.run_id))
    return Group(*lines)


def models(report: Report) -> str:
    """The language models that scored."""
    names = dict.fromkeys(experiment.results.model for experiment in report.experiments if experiment.results.model)
    return f"model {', '.join(names)}" if names else "nothing scored"


def _modes(report: Report) -> FittingTable:
    table = figure_table("mode", "N_eval", "Cov%", "MAE_w", "MAE_i", "MAE_s", "Cmax%", "AURC", "AUGRC", "time")
    for experiment in report.experiments:
        results, selective = experiment.results, experiment.selective_prediction
        intervals = results.intervals
        timings = report.timings.modes[results.mode]
        table.add_row(
            results.mode,
            f"{results.evaluated_subjects} of {results.total_subjects}",
            _shares(intervals["prediction_coverage"]),
            _numbers(intervals["item_mae_weighted"]),
            _numbers(intervals["item_mae_by_item"]),
            _numbers(intervals["item_mae_by_subject"]),
            _shares(selective.cmax),
            _numbers(selective.chosen.aurc),
            _numbers(selective.chosen.augrc),
            duration(timings.total_duration_seconds),
        )
    return table


def _baselines(report: Report) -> list[Drawing]:
    """The errors of scores without any transcript, and those of the modes less them."""
    table = figure_table("beside", "MAE_w", "95 %", "mode - it", "95 % of that")
    for experiment in report.experiments:
        for name, one in by_name(experiment.baselines).items():
            mae, difference = one.item_mae_weighted, one.difference
            cells = number(mae.value), bounds(mae), number(difference.value), bounds(difference)
            table.add_row(f"{experiment.results.mode}: {name}", *cells)
    has_any = any(experiment.baselines for experiment in report.experiments)
    return [table, *(Text(line, style="yellow") for line in baseline_remarks(report))] if has_any else []


def exclusions(report: Report) -> list[str]:
    """Which participants count in no mean error, and which scores are medians, a line per mode with any of each."""
    lines = []
    for experiment in report.experiments:
        results = experiment.results
        reasons = {
            "failed": results.failed_subjects,
            "unfinished": results.unfinished_subjects,
            "without ground truth": results.excluded_no_ground_truth,
            "without any scored item": results.excluded_no_evidence,
        }
        if any(reasons.values()):
            left_out = ", ".join(f"{count} {reason}" for reason, count in reasons.items() if count)
            lines.append(f"{results.mode}: {left_out} (in no mean error)")
        if medians := {item: found.medians for item, found in results.per_item.items() if found.medians}:
            of_items = ", ".join(f"{item} {count}" for item, count in medians.items())
            lines.append(
                f"{results.mode}: {counted(sum(medians.values()), 'score')} without evidence, each the median of the "
                f"reference index ({of_items})"
            )
    return lines


def _items(report: Report) -> FittingTable:
    modes = [experiment.results.mode for experiment in report.experiments]
    columns = ("MAE", "95 %", "n", "N/A", "median's", "mode's")
    shown = columns if any(experiment.baselines for experiment in report.experiments) else columns[:4]
    table = figure_table("item", *(f"{mode} {column}" for mode in modes for column in shown))
    for item in PHQ8Item:
        table.add_row(item, *(cell for experiment in report.experiments for cell in _item(experiment, item)))
    return table


def _item(experiment: Experiment, item: PHQ8Item) -> tuple[str, ...]:
    found = experiment.results.per_item[item]
    beside = (number(one.per_item[item].value) for one in by_name(experiment.baselines).values())
    return number(found.mae), bounds(found.mae_interval), str(found.count), str(found.na_count), *beside


def _confidences(report: Report) -> FittingTable:
    modes = [experiment.results.mode for experiment in report.experiments]
    table = figure_table("confidence", *(f"{mode} {column}" for mode in modes for column in ("AURC", "AUGRC")))
    names = dict.fromkeys(
        name for experiment in report.experiments for name in experiment.selective_prediction.by_confidence
    )
    for name in names:
        cells: list[Text | str] = []
        for experiment in report.experiments:
            found = experiment.selective_prediction.by_confidence.get(name)
            cells += ["", ""] if found is None else [_inline(found.aurc), _inline(found.augrc)]
        table.add_row(Text(name, style="bold" if name == report.measures.confidence else ""), *cells)
    return table


def _draws(found: ModeDraws) -> FittingTable:
    table = figure_table("draw", "run", f"{found.mode} N_eval", "Cov%", "MAE_w", texts=("run",))
    for draw in found.draws:
        table.add_row(
            str(draw.draw),
            draw.run_id,
            str(draw.evaluated),
            percent(draw.prediction_coverage),
            number(draw.item_mae_weighted),
        )
    coverage, mae = found.prediction_coverage, found.item_mae_weighted
    table.add_row("mean", "", "", percent(coverage.mean), number(mae.mean))
    table.add_row("std", "", "", percent(coverage.std), number(mae.std))
    return table


def _risks(report: Report) -> FittingTable:
    """The risk of the chosen confidence at the coverages of the grid."""
    modes = [experiment.results.mode for experiment in report.experiments]
    table = figure_table("risk at coverage", *(f"{mode} {column}" for mode in modes for column in ("risk", "95 %")))
    for coverage in report.measures.coverage_grid:
        name = f"{coverage:g}"
        risks = [one.selective_prediction.chosen.risk_at_coverage[name].risk for one in report.experiments]
        table.add_row(name, *(cell for risk in risks for cell in (number(risk.value), bounds(risk))))
    return table


def _calibrated(report: Report) -> FittingTable:
    """How the chosen confidence was calibrated, and its errors before and after."""
    table = figure_table("calibrated", "on", "scores", "parameters", "ECE", "Brier", "log loss", texts=("parameters",))
    for experiment in report.experiments:
        if (found := experiment.calibrated) is not None:
            parameters = ", ".join(f"{name} {value:.4g}" for name, value in found.parameters.items())
            changes = (change(found, of) for of in ("ece", "brier", "log_loss"))
            mode = experiment.results.mode
            table.add_row(mode, calibrated_on(found), str(found.items), parameters, *changes)
    return table


def calibrated_on(found: CalibratedConfidence) -> str:
    """The run that a confidence was calibrated on."""
    return f"{found.fitted_on} {found.split or ''}".rstrip()


def change(found: CalibratedConfidence, name: str) -> str:
    """An error before the calibration, if there is one, and after it."""
    before, after = (None if side is None else getattr(side, name) for side in (found.before, found.after))
    return f"{number(before)} -> {number(after)}"


def _references(report: Report) -> list[Drawing]:
    """One table per mode with references: what each filter dropped, of each item."""
    tables: list[Drawing] = []
    for experiment in report.experiments:
        if experiment.references:
            total = over_all_items(experiment.references.values())
            table = figure_table("references", "untagged", "retrieved", *total.dropped, "shown")
            for name, found in [*experiment.references.items(), ("all items", total)]:
                counts = (found.untagged, found.retrieved, *found.dropped.values(), found.shown)
                table.add_row(name, *map(str, counts))
            tables.append(table)
    return tables


def telemetry_table(by_mode: Mapping[str, Mapping[str, StageTelemetry]]) -> FittingTable:
    """A line per stage that parses replies or embeds texts."""
    texts = ("mode", "repairs", "asked again")
    table = figure_table("stage", "mode", "outputs", "repairs", "asked again", "cut texts", texts=texts)
    for mode, telemetry in by_mode.items():
        for stage, found in telemetry.items():
            counts = counts_or_none(found.repairs), counts_or_none(found.reasks)
            table.add_row(
                stage, mode, str(found.outputs), *counts, "" if found.cut_texts is None else str(found.cut_texts)
            )
    return table


def _numbers(interval: Interval) -> Text:
    return Text.assemble(number(interval.value), "\n", (bounds(interval), "dim"))


def _shares(interval: Interval) -> Text:
    return Text.assemble(percent(interval.value), "\n", (percent_bounds(interval), "dim"))


def _inline(interval: Interval) -> Text:
    return Text.assemble(number(interval.value), " ", (bounds(interval), "dim"))


#: Answers in the terminal; --json has all.
_SHOWN = 20


def evaluation_table(report: EvaluationReport) -> Drawing:
    """Head, measures, how far the judge can be trusted, and the answers with the least support."""
    head = Text.assemble((report.run_id, "bold"), f"  answers of {report.evaluates}  judge {report.judge}")
    parts: list[Drawing] = [
        Group(head, *(Text(notice, style="yellow") for notice in report.notices)),
        _measures(report),
        Text("\n".join(evaluation_remarks(report))),
        _answers(report),
        cost_lines(report.cost),
    ]
    if report.failures:
        parts.append(failure_table(report.failures, counted="jobs"))
    return spaced(parts)


def _measures(report: EvaluationReport) -> Drawing:
    table = figure_table("measure", "share", "95 %", "answers", "scored", "undecided", "of", texts=("of",))
    for name, found in report.measures.items():
        table.add_row(
            name,
            number(found.share.value),
            bounds(found.share),
            str(found.answers),
            str(found.scored),
            str(found.undecided),
            MEASURES[name],
        )
    return table


def _answers(report: EvaluationReport) -> Drawing:
    table = figure_table("question", "job", "state", *MEASURES, texts=("job", "state"))
    for one in report.answers[:_SHOWN]:
        table.add_row(Text(one.query), one.job, one.status, *(number(one.shares.get(name)) for name in MEASURES))
    more = len(report.answers) - _SHOWN
    rest = [Text(f"and {counted(more, 'more answer')}; --json has all of them", style="dim")] if more > 0 else []
    return Group(table, *rest)
