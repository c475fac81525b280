"""Names without a prefix: what is predicted of a participant, and how a report evaluates it."""

from typing import Literal

from pydantic import Field

from schemas.settings.base import SettingsGroup


class EvaluationSettings(SettingsGroup):
    """What is predicted of a participant. All but the first are the defaults of the run's report."""

    enable_few_shot: bool = True
    """Score with references too; if false, a submission scores in zero-shot mode only."""
    prediction_mode: Literal["item", "total", "binary"] = "item"
    """What the report shows first: scores of items, totals, or depressed or not."""
    total_score_min_coverage: float = Field(default=0.5, ge=0.0, le=1.0)
    """Share of the eight items that need a score for a total."""
    binary_threshold: int = Field(default=10, ge=0, le=24)
    """The total from which a participant counts as depressed."""
