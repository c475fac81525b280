"""The scores of a participant run as CSV, a row per participant and mode."""

import csv
from io import StringIO

from schemas.values.figures import ScoreTable
from schemas.values.phq8 import PHQ8Item

_ITEMS = tuple(PHQ8Item)

COLUMNS = (
    *("run", "data_set", "participant", "mode", "job", "status"),
    *_ITEMS,
    *("total", "lowest_total", "highest_total", "mae"),
    *(f"truth_{item}" for item in _ITEMS),
    "truth_total",
)


def score_csv(table: ScoreTable) -> str:
    """Strict CSV (RFC 4180): a cell is empty where there is no number."""
    written = StringIO()
    writer = csv.writer(written)
    writer.writerow(COLUMNS)
    for row in table.participants:
        truth = [None] * len(_ITEMS) if row.truth is None else [row.truth[item] for item in _ITEMS]
        for mode, one in row.modes.items():
            scores = [None] * len(_ITEMS) if one.items is None else [one.items[item] for item in _ITEMS]
            writer.writerow(
                (
                    *(f"r{table.run_id}", table.data_set, row.participant_id),
                    *(mode.value, f"j{one.job_id}", one.status.value),
                    *(*scores, one.total, one.lowest_total, one.highest_total, one.mae, *truth, row.truth_total),
                )
            )
    return written.getvalue()
