"""Names without a prefix: what is predicted of a participant, and how a report evaluates it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le

from schemas.settings.base import SettingsGroup


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationSettings(SettingsGroup):
    """What is predicted of a participant. All but the first are the defaults of the run's report."""

    enable_few_shot: bool = True
    """Score with references too; if false, a submission scores in zero-shot mode only."""
    prediction_mode: Literal["item", "total", "binary"] = "item"
    """What the report shows first: scores of items, totals, or depressed or not."""
    total_score_min_coverage: Annotated[float, Ge(0.0), Le(1.0)] = 0.5
    """Share of the eight items that need a score for a total."""
    binary_threshold: Annotated[int, Ge(0), Le(24)] = 10
    """The total from which a participant counts as depressed."""
