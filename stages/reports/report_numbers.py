"""The numbers of a report as CSV, one a row, with all their digits."""

import csv
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import NamedTuple

from schemas.values.metrics import Interval
from schemas.values.phq8 import PHQ8Item
from schemas.values.reports import Experiment, Report
from schemas.values.retrieval_reports import RetrievalReport
from stages.reports.words import origin_words

_COLUMNS = (
    *("run", "mode", "metric", "item", "coverage", "value", "low", "high", "standard_error", "n"),
    *("confidence", "resamples", "notices", "origin"),
)


class PaperNumber(NamedTuple):
    """A number as one row of CSV; what does not apply is None."""

    run: str
    mode: str | None
    """Of a run of queries the ranking."""
    metric: str
    item: str | None
    coverage: float | None
    interval: Interval
    n: int
    """The participants, or queries, that the number is of."""
    notices: tuple[str, ...]
    origin: tuple[str, ...] = ()
    """Where the run was submitted and computed, in words."""


def as_csv(numbers: Iterable[PaperNumber], *, confidence: str | None) -> str:
    """Strict CSV (RFC 4180): a cell is empty where there is no number, and every row has the notices and the origin of
    its run.
    """
    written = StringIO()
    writer = csv.writer(written)
    writer.writerow(_COLUMNS)
    for one in numbers:
        interval = one.interval
        writer.writerow(
            (
                *(one.run, one.mode, one.metric, one.item, one.coverage),
                *(interval.value, interval.low, interval.high, interval.std, one.n),
                *(confidence, interval.resamples, " ".join(one.notices), " ".join(one.origin)),
            )
        )
    return written.getvalue()


def report_numbers(report: Report) -> Iterator[PaperNumber]:
    """Every number of the tables, and those of totals and binary predictions."""
    run = report.run_metadata
    origin = tuple(origin_words(run.origin))
    for experiment in report.experiments:
        for metric, item, coverage, interval, n in _numbers(experiment):
            yield PaperNumber(
                run.run_id, experiment.results.mode.value, metric, item, coverage, interval, n, run.notices, origin
            )


def retrieval_numbers(report: RetrievalReport) -> Iterator[PaperNumber]:
    """Every number of the table."""
    run = report.run_metadata
    origin = tuple(origin_words(run.origin))
    for found in report.stages:
        stage, n = found.stage.value, found.queries
        for name, interval in found.measures.items():
            yield PaperNumber(run.run_id, stage, name, None, None, interval, n, run.notices, origin)


def _numbers(experiment: Experiment) -> Iterator[tuple[str, str | None, float | None, Interval, int]]:
    results, selective = experiment.results, experiment.selective_prediction
    successful = selective.population // len(PHQ8Item)
    n_of = {"cmax": successful}
    n_of |= dict.fromkeys(("total_mae", "total_rmse", "total_pearson_r"), results.total_metrics.predicted)
    n_of["severity_accuracy"] = results.total_metrics.predicted
    for name, interval in results.intervals.items():
        is_binary = name.startswith("binary_")
        n = results.binary_metrics.predicted if is_binary else n_of.get(name, results.evaluated_subjects)
        yield name, None, None, interval, n
    yield "aurc", None, None, selective.chosen.aurc, successful
    yield "augrc", None, None, selective.chosen.augrc, successful
    for coverage, found in selective.chosen.risk_at_coverage.items():
        yield "risk_at_coverage", None, float(coverage), found.risk, successful
    for item, of_item in results.per_item.items():
        yield "item_mae", item.value, None, of_item.mae_interval, of_item.count
    if (beside := experiment.baselines) is not None:
        for name, one in {"median": beside.median, "mode": beside.mode}.items():
            yield f"{name}_item_mae_weighted", None, None, one.item_mae_weighted, results.evaluated_subjects
            yield f"less_{name}_item_mae_weighted", None, None, one.difference, results.evaluated_subjects
            for item, interval in one.per_item.items():
                yield f"{name}_item_mae", item.value, None, interval, results.per_item[item].count
