"""How the intervals of a report were made, or why there are none."""

from schemas.values.reports import Report


def interval_words(report: Report) -> str:
    """One line, without a capital at its start and without a full stop."""
    measures = report.measures
    evaluated = max((experiment.results.evaluated_subjects for experiment in report.experiments), default=0)
    if evaluated == 1:
        return "one participant was evaluated, so no number has an interval"
    return (
        f"95 % percentile intervals over {measures.bootstrap_resamples} resamples of participants "
        f"(seed {measures.bootstrap_seed})"
    )
