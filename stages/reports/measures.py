"""The parameters of a report that a run was submitted with."""

from collections.abc import Mapping

from schemas.values.coverage_grid import coverage_grid
from schemas.values.reports import Measures
from schemas.values.scored_runs import SettingValue


def frozen_measures(settings: Mapping[str, SettingValue]) -> Measures:
    """The measures of a run's settings; those that the run does not have, or that no setting holds, have defaults."""
    grid = settings.get("RAGQ_COVERAGE_GRID")
    return Measures() if grid is None else Measures(coverage_grid=coverage_grid(grid.value))
