"""Scorers without a language model, compared on the participants of a run."""

from schemas.values.base import Value
from schemas.values.metrics import Interval
from schemas.values.phq8 import PHQ8Item


class ScorerErrors(Value):
    """One scorer."""

    scorer: str
    item_mae_weighted: Interval
    less_median: Interval
    """item_mae_weighted less that of the median, each resample with the same participants for both."""
    per_item: dict[PHQ8Item, float | None]
    """The MAE of each item."""


class ScorerComparison(Value):
    """All scorers of the same participants, fitted and tuned on the same training participants alone."""

    run_id: str
    split: str | None
    participants: int
    trained_on: str
    """The training split."""
    training_participants: int
    neighbours: int
    alphas: dict[PHQ8Item, float]
    """The strength of ridge regression for each item, chosen by leaving out each training participant in turn."""
    bootstrap_resamples: int
    bootstrap_seed: int
    scorers: tuple[ScorerErrors, ...]
    """The run itself first."""
