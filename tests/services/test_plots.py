"""Plots of a report name what they draw."""

import json
import re
from pathlib import Path

from schemas.values.reports import Report
from services.plots import plots_of

REPORT = Path(__file__).parents[1] / "stages" / "reports" / "report.golden.json"


def test_every_plot_of_modes_names_them_and_calibration_its_line_too() -> None:
    report = Report.model_validate(json.loads(REPORT.read_text()))

    words = [re.findall(r"<text[^>]*>([^<]*)</text>", svg) for _, svg in plots_of(report)]

    assert ["zero-shot" in of_plot for of_plot in words] == [True, True, True, True, False]
    assert "perfect" in words[3]
