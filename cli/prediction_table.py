"""What a report shows first: totals, or depressed or not, when the run or an option asks for them."""

from cli.drawing import FittingTable, figure_table
from schemas.values.measures import Measures
from schemas.values.reports import Report
from stages.reports.numbers_in_words import bounds, number

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
