"""Plots of a report name what they draw."""

import json
import re
from pathlib import Path

from schemas.values.reports import Report
from services.plots import plots_of

REPORT = Path(__file__).parents[1] / "stages" / "reports" / "report.golden.json"


def test_every_plot_names_the_modes_and_calibration_its_line_too() -> None:
    report = Report.model_validate(json.loads(REPORT.read_text()))

    words = {one.kind: re.findall(r"<text[^>]*>([^<]*)</text>", one.on_page()) for one in plots_of(report)}

    assert {kind: "zero-shot" in of_plot for kind, of_plot in words.items()} == {
        "risk": True,
        "items": True,
        "calibration": True,
    }
    assert "perfect" in words["calibration"]
