"""Purges old runs once a day, in one of the workers whose settings say so."""

import asyncio
from typing import Final

import structlog

from schemas.errors import Refused
from schemas.settings.process import Retention
from store.database import DATABASE_ERRORS, Connection, Database
from store.runs import purging, scheduled_purges
from store.runs.purging import Criteria

log = structlog.get_logger(__name__)

#: Between two looks whether a day has passed, or whether the worker that purged is gone.
LOOK_SECONDS: Final = 60.0


class PurgeSchedule:
    """What is deleted, and when: a day after the last purge began, whichever worker carried it out."""

    def __init__(self, database: Database, retention: Retention, *, look_s: float = LOOK_SECONDS) -> None:
        self._database = database
        self._look_s = look_s
        criteria = [(retention.runs, False), (retention.texts, True)]
        self._criteria = [
            Criteria(older_than=age, keep_results=keep_results, is_scheduled=True)
            for age, keep_results in criteria
            if age is not None
        ]

    async def run(self) -> None:
        """Look again and again until cancelled; return at once when nothing is ever purged."""
        while self._criteria:
            try:
                async with self._database.session() as connection:
                    await self.purge_if_due(connection)
            except DATABASE_ERRORS as error:
                log.warning("scheduled_purge_interrupted", error_type=type(error).__name__)
            await asyncio.sleep(self._look_s)

    async def purge_if_due(self, connection: Connection) -> None:
        """Carry out the purge of this day, unless it is done."""
        async with scheduled_purges.turn(connection) as purge_id:
            if purge_id is None:
                return
            error_type = None
            for criteria in self._criteria:
                try:
                    async for one in purging.purge(connection, criteria):
                        await scheduled_purges.count(connection, purge_id, one)
                        log.info(
                            "run_purged",
                            run_id=one.run_id,
                            what=one.what,
                            jobs=one.jobs,
                            attempts=one.attempts,
                            calls=one.calls,
                        )
                except Refused as error:
                    error_type = type(error).__name__
                    log.warning("run_not_purged", error_type=error_type)
            await scheduled_purges.end(connection, purge_id, error_type)
            log.info("scheduled_purge_ended")
