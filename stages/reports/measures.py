"""The measures of a run's report: chosen for the report, else frozen into the run, else the defaults."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from schemas.errors import Refused
from schemas.values.coverage_grid import coverage_grid
from schemas.values.measures import Measures, RetrievalMeasures
from schemas.values.scored_runs import ScoredRun, SettingValue

#: The measures that a run can set, and the names of its settings.
_OF_RUN: Final = {
    "prediction_mode": "PREDICTION_MODE",
    "total_min_coverage": "TOTAL_SCORE_MIN_COVERAGE",
    "binary_threshold": "BINARY_THRESHOLD",
    "coverage_grid": "RAGQ_COVERAGE_GRID",
}

_MEASURES: Final = TypeAdapter(Measures)
_RETRIEVAL_MEASURES: Final = TypeAdapter(RetrievalMeasures)


def measures_of(settings: Mapping[str, SettingValue], chosen: Mapping[str, Any]) -> Measures:
    """The measures of a run with these settings; `chosen` values win."""
    frozen = {field: settings[name] for field, name in _OF_RUN.items() if name in settings}
    values = {field: _value(field, setting) for field, setting in frozen.items()} | dict(chosen)
    sources = {field: "option" if field in chosen else _source(field, frozen.get(field)) for field in _OF_RUN}
    return _MEASURES.validate_python(values | {"sources": sources})


def retrieval_measures_of(chosen: Mapping[str, Any]) -> RetrievalMeasures:
    """The measures that were chosen for the report of a run of queries."""
    return _RETRIEVAL_MEASURES.validate_python(chosen)


def common_measures(left: ScoredRun, right: ScoredRun, chosen: Mapping[str, Any]) -> Measures:
    """The measures of a comparison. Raises Refused when the runs define a total or depression in two ways."""
    found, other = (measures_of(run.settings, chosen) for run in (left, right))
    for field in ("total_min_coverage", "binary_threshold"):
        here, there = getattr(found, field), getattr(other, field)
        if here != there:
            raise Refused(
                f"r{left.run_id} has {_OF_RUN[field]}={here:g} and r{right.run_id} {there:g}; "
                f"name the one to compare by with --{field.replace('_', '-')}."
            )
    return found


def _value(field: str, setting: SettingValue) -> Any:
    return coverage_grid(setting.value) if field == "coverage_grid" else setting.value


def _source(field: str, frozen: SettingValue | None) -> str:
    if frozen is None or frozen.source == "default":
        return "default"
    return f"{_OF_RUN[field]} of the run, {frozen.source}"
