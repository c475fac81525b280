"""CONSISTENCY_*: scoring by several samples."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Le

from schemas.settings.base import SettingsGroup


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsistencySettings(SettingsGroup):
    """Scoring by several samples."""

    prefix: ClassVar = "CONSISTENCY_"

    enabled: bool = False
    """Score each participant several times and use the most frequent answer."""
    n_samples: Annotated[int, Ge(1), Le(20)] = 5
    """Usable samples per participant; at most twice as many are requested."""
    temperature: Annotated[float, Ge(0.0), Le(2.0)] = 0.2
    """Temperature of the samples."""
