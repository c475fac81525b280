"""What was frozen of a run: its settings when it was submitted, and the language models that it began with."""

import json
import os
import signal
from functools import lru_cache
from typing import Literal, NamedTuple, TypeVar

from schemas.errors import ModelChangedError, ModelMissingError
from schemas.settings.run import FrozenSettings, thaw
from schemas.values.chat import ModelIdentity
from schemas.values.runs import FrozenModel
from store.database import Connection, Database
from store.runs import runs

REMEMBERED = 1000
"""Runs, and models of runs, that a process remembers: it lives for years, and every question is a run."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class Remembered(dict[Key, Value]):
    """The values that were stored last, at most so many; those before are forgotten."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: Key, value: Value) -> None:
        super().__setitem__(key, value)
        if len(self) > self._most:
            del self[next(iter(self))]


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
            snapshot, draw = await self._database.ask(runs.frozen_settings, run_id)
            self._frozen[run_id] = FrozenRun(_thawed(json.dumps(snapshot)), draw)
        return self._frozen[run_id]


@lru_cache(maxsize=100)
def _thawed(snapshot: str) -> FrozenSettings:
    return thaw(json.loads(snapshot))


class FrozenModels:
    """The frozen models of the runs of this process; each is read once, or again when it was forgotten."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._frozen: Remembered[tuple[int, str], FrozenModel | None] = Remembered(REMEMBERED)

    def __len__(self) -> int:
        """How many models of runs it remembers."""
        return len(self._frozen)

    async def check(self, run_id: int, found: ModelIdentity) -> None:
        """Freeze a model at the first call of a run. Raises ModelChangedError when another one was frozen."""
        key = run_id, found.model
        if key not in self._frozen:
            self._frozen[key] = await self._database.ask(_freeze, run_id, found)
        frozen = self._frozen[key]
        if frozen is not None and frozen.identity.weights != found.weights:
            raise _changed(run_id, frozen, found.words)

    async def check_missing(self, run_id: int, missing: ModelMissingError) -> None:
        """Raise ModelChangedError when a run was submitted with a model that the server of this worker does not have.

        A run that froze none is left to the error of the server.
        """
        for frozen in await self._database.ask(runs.frozen, run_id, model=missing.model):
            raise _changed(run_id, frozen, f"no model of this name at {missing.server}")


def _changed(run_id: int, frozen: FrozenModel, found: str) -> ModelChangedError:
    when = "at its submission" if frozen.is_from_submission else "at its first call"
    return ModelChangedError(
        f"Model '{frozen.identity.model}' of run r{run_id} has changed: {frozen.identity.words} {when}, {found} now. "
        f"Serve the first one again and `ragq retry r{run_id}`, or submit the same work with `--new`, which uses the "
        "present one."
    )


async def _freeze(connection: Connection, run_id: int, found: ModelIdentity) -> FrozenModel | None:
    """The frozen model; None for a run that is not held to its models."""
    await runs.freeze(connection, run_id, [found], is_from_submission=False)
    (frozen,) = await runs.frozen(connection, run_id, model=found.model)
    return frozen if await runs.is_held(connection, run_id) else None


# `RAGQ_CRASH_AT=after_compute@validate#1` ends the process with SIGKILL when the first attempt of a `validate` stage
# reaches that point. Stage and attempt may be left out: `after_claim` strikes everywhere, again and again.

Point = Literal[
    "after_claim",
    "after_compute",
    "before_commit",
    "after_commit",
    "after_publish",
    "after_upload",
    "after_begin",
    "after_answer",
]


def crash_point(point: Point, stage: str, attempt: int) -> None:
    """End this process if RAGQ_CRASH_AT names this point; usually do nothing."""
    wanted = os.environ.get("RAGQ_CRASH_AT")
    if not wanted:
        return
    place, _, number = wanted.partition("#")
    name, _, only_stage = place.partition("@")
    if name == point and only_stage in ("", stage) and number in ("", str(attempt)):
        os.kill(os.getpid(), signal.SIGKILL)
