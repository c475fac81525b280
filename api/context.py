"""What every request may use: settings, database, broker."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated

from celery import Celery
from fastapi import Depends, Request
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from api.event_streams import Streams
from api.metrics import Metrics
from schemas.settings.process import ProcessSettings, prices_of
from schemas.settings.resolve import EffectiveSettings, resolve
from schemas.values.costs import Prices
from store.database import Database
from store.runs.edits import Changes


@dataclass(frozen=True, kw_only=True)
class ApiContext:
    """Settings and servers. A connection is borrowed for statements, never for a whole request."""

    settings: ProcessSettings
    database: Database
    broker: Celery
    flower_url: str | None = None
    """The address of Flower for links, if it runs."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the settings of new runs are read from."""
    env_file: Path | None = None

    def run_settings(self, *, profile: str | None = None, values: Mapping[str, str] | None = None) -> EffectiveSettings:
        """The settings of a run that is submitted now, with a profile and values of the request.

        Raises Refused with every problem.
        """
        return resolve(profile=profile, options=values or {}, environment=self.environment, env_file=self.env_file)

    @cached_property
    def changes(self) -> Changes:
        """Notifications of changes of runs and jobs."""
        return Changes(self.database.url)

    @cached_property
    def streams(self) -> Streams:
        """The open event streams."""
        return Streams(self.database)

    @cached_property
    def logins(self) -> MovingWindowRateLimiter:
        """The login attempts of the last minute, by address."""
        return MovingWindowRateLimiter(MemoryStorage())

    @cached_property
    def prices(self) -> Prices | None:
        """The prices of RAGQ_PRICES, read once; None where it is unset. Raises Refused for an unusable file."""
        return prices_of(self.settings)

    @cached_property
    def metrics(self) -> Metrics:
        """The metrics of this server."""
        return Metrics(self.database)

    async def close(self) -> None:
        """Close the connections."""
        await self.changes.close()
        await self.database.close()


def _context(request: Request) -> ApiContext:
    found: ApiContext = request.app.state.context
    return found


Context = Annotated[ApiContext, Depends(_context)]
