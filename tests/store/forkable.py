"""A run of participants with real settings whose stages are stored directly, ready to be forked."""

from collections.abc import Mapping, Sequence
from typing import Any

from schemas.settings.resolve import resolve
from schemas.settings.run import settings_hash
from schemas.values.scoring import ParticipantScores
from store.database import Connection
from store.runs import runs
from store.runs.runs import StoredRun
from tests.store.conftest import new_run
from tests.store.scored import committing, take

STAGES = ("extract", "assemble", "score")
EXTRACTED = {"quotes": {}, "rejected": {}, "secret": "I lie awake"}


async def forkable_run(
    connection: Connection,
    outcomes: Mapping[int, ParticipantScores | None],
    *,
    mode: str = "zero_shot",
    options: Mapping[str, str] | None = None,
) -> StoredRun:
    """A run of the profile demo, one job per participant; those without scores fail nothing and wait for `score`."""
    effective = resolve(profile="demo", options=options or {}, environment={})
    chosen = {"settings": effective.snapshot(), "settings_hash": settings_hash(effective.run)}
    request = {"split": "paper-test", "profile_source": effective.profile_source}
    run = new_run(outcomes, mode=mode, inputs={"data_set": "data"}, stages=STAGES, request=request, **chosen)
    stored = await runs.store(connection, run, always_new=True)
    for job_id, scores in zip(stored.job_ids, outcomes.values(), strict=True):
        await finish(connection, job_id, STAGES, scores)
    return stored


async def finish(connection: Connection, job_id: int, stages: Sequence[str], scores: ParticipantScores | None) -> None:
    """Complete stages of a job; `score` only where there are scores."""
    for stage in stages:
        output: Any = EXTRACTED if stage == "extract" else {"prompt": "Score."}
        if stage == "score":
            if scores is None:
                return
            output = scores.model_dump(mode="json")
        await take(connection, job_id, stage, committing(output))
