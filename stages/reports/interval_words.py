"""How the intervals of a report were made, or why there are none."""

from schemas.values.reports import Report
from stages.metrics.bootstrap import LEAST
from stages.reports.numbers_in_words import counted


def interval_words(report: Report) -> str:
    """One line, without a capital at its start and without a full stop."""
    measures = report.measures
    evaluated = max((experiment.results.evaluated_subjects for experiment in report.experiments), default=0)
    if 0 < evaluated < LEAST:
        return f"{counted(evaluated, 'evaluated participant')}: too few for an interval, which takes {LEAST}"
    return (
        f"95 % percentile intervals over {measures.bootstrap_resamples} resamples of participants "
        f"(seed {measures.bootstrap_seed})"
    )
