"""The table and the numbers of a run of queries."""

from collections.abc import Iterator

from cli.paper.table import PaperNumber, PaperTable, noticed, with_interval
from cli.retrieval_table import made_with, remarks
from schemas.values.retrieval_reports import RetrievalReport
from stages.metrics.retrieval import measure_names
from stages.reports.origin_words import origin_words


def retrieval_tables(report: RetrievalReport) -> list[PaperTable]:
    """A row per ranking, a column per measure."""
    run, measures = report.run_metadata, report.measures
    names = measure_names(measures.cutoff)
    made = ", ".join(f"{what} {name}" for what, name in made_with(report.provenance).items())
    rows = (
        (found.stage.value, str(found.queries), *(with_interval(found.measures[name], 4) for name in names))
        for found in report.stages
    )
    note = (
        f"ragq {run.ragq_version}, run {run.run_id}: {made}. Means over judged queries; in brackets 95 % percentile "
        f"intervals over {measures.bootstrap_resamples} resamples of queries (seed {measures.bootstrap_seed})."
    )
    notes = (note, *remarks(report.counts), *noticed(run.notices), *origin_words(run.origin))
    return [PaperTable(f"Rankings of run {run.run_id}", ("Ranking", "Queries", *names), tuple(rows), notes)]


def retrieval_numbers(report: RetrievalReport) -> Iterator[PaperNumber]:
    """Every number of the table."""
    run = report.run_metadata
    origin = tuple(origin_words(run.origin))
    for found in report.stages:
        stage, n = found.stage.value, found.queries
        for name, interval in found.measures.items():
            yield PaperNumber(run.run_id, stage, name, None, None, interval, n, run.notices, origin)
