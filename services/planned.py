"""What every submission comes to: a run, and what has to be stored beside it."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from schemas.settings.resolve import EffectiveSettings
from store.database import Connection
from store.runs.runs import NewRun


class Planned(NamedTuple):
    """A run that is ready to be stored."""

    run: NewRun
    effect: Callable[[Connection, int], Awaitable[None]] | None = None
    """Stores what belongs to a new run, in the same transaction, by the run's number."""


Planner = Callable[[Connection, EffectiveSettings], Awaitable[Planned]]
"""Makes a run of what was asked for, once the settings and the database are there."""
