"""The settings and the draw of runs, as the stages of this process read them."""

import json
from functools import lru_cache
from typing import NamedTuple

from schemas.settings.frozen import FrozenSettings, thaw
from store.database import Database
from store.runs import stored_runs
from workers.remembered import Remembered

REMEMBERED = 1000
"""Runs that a process remembers."""


class FrozenRun(NamedTuple):
    """What was frozen at the submission of a run."""

    settings: FrozenSettings
    draw: int


class FrozenRuns:
    """The frozen runs of this process; each is read once, or again when it was forgotten."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._frozen: Remembered[int, FrozenRun] = Remembered(REMEMBERED)

    def __len__(self) -> int:
        """How many runs it remembers."""
        return len(self._frozen)

    async def get(self, run_id: int) -> FrozenRun:
        """What a run was submitted with; runs of equal settings share them. Raises Refused as `thaw` does."""
        if run_id not in self._frozen:
            snapshot, draw = await self._database.with_retry(lambda connection: stored_runs.frozen(connection, run_id))
            self._frozen[run_id] = FrozenRun(_thawed(json.dumps(snapshot)), draw)
        return self._frozen[run_id]


@lru_cache(maxsize=100)
def _thawed(snapshot: str) -> FrozenSettings:
    return thaw(json.loads(snapshot))
