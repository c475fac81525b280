"""Runs that are stored with their jobs finished, so that no worker takes any."""

from collections.abc import Sequence

from schemas.values.failures import AttemptError
from schemas.values.scoring import ParticipantScores
from store.database import Connection
from store.runs import runs, stages
from store.runs.imported import IMPORTED
from store.runs.runs import NewRun, StoredRun

_LEASE_S = 60.0


async def store(connection: Connection, run: NewRun, outcomes: Sequence[ParticipantScores | AttemptError]) -> StoredRun:
    """Store a run of jobs with the one stage `score`, each ended with its outcome; or find the run of the same work."""
    async with connection.transaction():
        stored = await runs.store(connection, run)
        if stored.is_new:
            for job_id, outcome in zip(stored.job_ids, outcomes, strict=True):
                claim = await stages.claim(connection, job_id, "score", IMPORTED, _LEASE_S)
                assert claim is not None, "Nobody else sees the jobs before the transaction ends."
                if isinstance(outcome, ParticipantScores):
                    await stages.commit(connection, claim, inputs=claim.inputs, output=outcome.model_dump(mode="json"))
                else:
                    await stages.fail(connection, claim, outcome, inputs=claim.inputs)
    return stored
