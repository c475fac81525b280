"""How the numbers of a report are made."""

from dataclasses import dataclass, field
from typing import Literal

from schemas.values.base import PlainValue
from schemas.values.differences import GRID, coverage_grid

PredictionMode = Literal["item", "total", "binary"]
"""Scores of items, totals, or depressed or not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measures(PlainValue):
    """The parameters of the metrics of a report."""

    confidence: str = "llm"
    loss: str = "abs_norm"
    bootstrap_resamples: int = 10_000
    bootstrap_seed: int = 42
    coverage_grid: tuple[float, ...] = coverage_grid(GRID)
    """The coverages at which the risk is reported."""
    area_coverage: float = 0.5
    """The coverage at which truncated areas end."""
    total_min_coverage: float = 0.5
    """Share of the eight items that need a score for a total."""
    binary_threshold: int = 10
    """The total from which a participant counts as depressed."""
    prediction_mode: PredictionMode = "item"
    """What the report shows first; it has all of them."""
    sources: dict[str, str] = field(default_factory=dict)
    """Where those come from that a run can set: `option`, `default`, or the setting of the run and its source."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrievalMeasures(PlainValue):
    """The parameters of the measures of a report."""

    cutoff: int = 10
    """Documents that count, from the top."""
    bootstrap_resamples: int = 10_000
    bootstrap_seed: int = 42
