"""The table of a run of queries."""

from cli.paper.table import PaperTable, noticed, with_interval
from schemas.values.retrieval_reports import RetrievalReport
from stages.metrics.retrieval import measure_names
from stages.reports.retrieval import made_with, remarks
from stages.reports.words import origin_words


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
