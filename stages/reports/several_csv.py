"""Several runs compared with one, as CSV: a row per run, mode and measure."""

import csv
import io
import json
from collections.abc import Sequence

from schemas.values.differences import SeveralRuns

_COLUMNS = (
    *("run", "baseline_run", "mode", "split", "measure", "subjects", "baseline", "value"),
    *("delta", "low", "high", "corrected_low", "corrected_high", "comparisons", "failed", "settings"),
)


def several_csv(found: Sequence[SeveralRuns]) -> str:
    """The measures of every run; `settings` is a JSON object of its values that differ from the baseline's."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for one in found:
        for run in one.compared:
            for name, measure in run.measures.items():
                interval, corrected = measure.delta, measure.corrected
                rows.writerow(
                    [
                        *(run.run_id, one.runs[0], one.mode or "", one.subjects_of or "", name, measure.subjects),
                        *map(_cell, (measure.baseline, measure.value, interval.value, interval.low, interval.high)),
                        *map(_cell, (corrected.low, corrected.high)),
                        *(one.comparisons, run.failed, json.dumps(run.settings, sort_keys=True)),
                    ]
                )
    return written.getvalue()


def _cell(value: float | None) -> str:
    return "" if value is None else repr(value)
