"""The results of a sweep as rows."""

from collections.abc import Sequence

from ragq.tables import Table
from schemas.values.several_runs import Sweep
from stages.reports.several_runs import shown_measures


def sweep_table(found: Sweep, measures: Sequence[str]) -> Table:
    """A row per point, mode and measure; `measures` empty takes those that are shown by default."""
    best = {(one.measure, result.mode): one.run_id for one, result in zip(found.best, found.results, strict=False)}
    rows = []
    for result in found.results:
        for run in result.compared:
            for name in measures or shown_measures(result):
                measure = run.measures[name]
                rows.append(
                    {
                        "run": run.run_id,
                        **found.points[run.run_id],
                        **{"mode": result.mode, "measure": name, "baseline": measure.baseline, "value": measure.value},
                        **{"delta": measure.delta.value, "low": measure.delta.low, "high": measure.delta.high},
                        **{"corrected_low": measure.corrected.low, "corrected_high": measure.corrected.high},
                        **{"subjects": measure.subjects, "failed": run.failed},
                        "is_best": best.get((name, result.mode)) == run.run_id,
                    }
                )
    return Table(rows)


def value_text(value: object) -> str:
    """A value of a setting as `--set` takes it.

    >>> value_text(True), value_text(0.5)
    ('true', '0.5')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)
