"""Numbers as CSV, one a row, with all their digits."""

import csv
from collections.abc import Iterable
from io import StringIO

from cli.paper.table import PaperNumber

_COLUMNS = (
    *("run", "mode", "metric", "item", "coverage", "value", "low", "high", "standard_error", "n"),
    *("confidence", "resamples", "notices", "origin"),
)


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
