"""A job changed after its submission: an output given by hand, a stage done again, a chain made longer.

What was computed from the old state is stale: later stages wait again, and their attempts stay as history. A stage
that is running stands in the way, because its result would be stored into a job that means something else by then.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from schemas.errors import Refused, StageRunningError
from schemas.statuses import AttemptOutcome, StageStatus
from store.chain import attempt_hash, content_hash
from store.database import Connection

BY_HAND: Final = "by hand"
"""The worker of an attempt that nobody computed."""

STAGES = "SELECT stage, position, status, attempts, fence FROM stage_run WHERE job_id = $1 ORDER BY position FOR UPDATE"

JOB = """
SELECT r.settings_hash,
       (SELECT hash FROM stage_attempt WHERE job_id = $1 AND hash IS NOT NULL ORDER BY id DESC LIMIT 1) AS previous_hash
FROM job AS j JOIN run AS r ON r.id = j.run_id
WHERE j.id = $1 FOR UPDATE OF j
"""

GIVEN = """
INSERT INTO stage_attempt
    (job_id, stage, number, fence, worker_id, started_at, ended_at, outcome, inputs, output, output_hash,
     previous_hash, hash)
VALUES ($1, $2, $3, $4, $5, now(), now(), $6, $7, $8, $9, $10, $11)
"""

DONE = """
UPDATE stage_run
SET status = 'done', fence = $3, attempts = $4, started_at = now(), finished_at = now(), interruptions = 0, retries = 0,
    enq_n = 0, not_before = NULL
WHERE job_id = $1 AND stage = $2
"""

# A higher fence: what somebody still computes for the old state changes nothing any more.
AGAIN_FROM = """
UPDATE stage_run
SET status = CASE WHEN position = $2 THEN 'ready' ELSE 'waiting' END, fence = fence + 1, started_at = NULL,
    finished_at = NULL, interruptions = 0, retries = 0, enq_at = CASE WHEN position = $2 THEN now() END, enq_n = 0,
    not_before = NULL
WHERE job_id = $1 AND position >= $2
"""

GO_ON = """
UPDATE job
SET status = CASE WHEN $2 THEN 'succeeded' WHEN $3 THEN 'paused' ELSE 'waiting' END, note = $4,
    finished_at = CASE WHEN $2 THEN now() END
WHERE id = $1
"""

LONGER = """
INSERT INTO stage_run (job_id, stage, position, status, fence, attempts, interruptions, retries, enq_n)
SELECT $1, s.stage, $2 + s.ordinal, 'waiting', 0, 0, 0, 0, 0
FROM unnest($3::text[]) WITH ORDINALITY AS s (stage, ordinal)
"""


async def give(
    connection: Connection, job_id: int, stage: str, output: Mapping[str, Any], *, pause_note: str | None = None
) -> None:
    """Store an output that somebody gives for a stage, as an attempt of it, and let the stages after it come again.

    With `pause_note` the job is paused then, and says so by that note. Raises Refused when the job has no such stage,
    when a stage before it is not done, and while a stage runs.
    """
    async with connection.transaction():
        job = await connection.fetchrow(JOB, job_id)
        rows = await _stages(connection, job_id)
        row = _found(rows, job_id, stage)
        inputs = {"by": BY_HAND}
        output_hash = content_hash(output)
        number, fence = row["attempts"] + 1, row["fence"] + 1
        link = attempt_hash(
            previous_hash=job["previous_hash"],
            job_id=job_id,
            stage=stage,
            number=number,
            outcome=AttemptOutcome.SUCCEEDED,
            settings_hash=job["settings_hash"],
            inputs=inputs,
            output_hash=output_hash,
            error_type=None,
            error_message=None,
        )
        await connection.execute(
            GIVEN,
            job_id,
            stage,
            number,
            fence,
            BY_HAND,
            AttemptOutcome.SUCCEEDED,
            json.dumps(inputs),
            json.dumps(output),
            output_hash,
            job["previous_hash"],
            link,
        )
        await connection.execute(DONE, job_id, stage, fence, number)
        await _go_on_from(connection, job_id, rows, row["position"] + 1, pause_note)


async def redo(connection: Connection, job_id: int, stage: str, *, pause_note: str | None = None) -> None:
    """Let a stage and those after it come again. Raises as `give`."""
    async with connection.transaction():
        await connection.fetchrow(JOB, job_id)
        rows = await _stages(connection, job_id)
        await _go_on_from(connection, job_id, rows, _found(rows, job_id, stage)["position"], pause_note)


async def lengthen(connection: Connection, job_id: int, stages: Sequence[str]) -> list[str]:
    """Put those of the stages that a job lacks behind its last one; what was added, in order.

    A job that had come to its end goes on with the first of them. `stages` is the whole chain from its first stage.
    """
    async with connection.transaction():
        await connection.fetchrow(JOB, job_id)
        rows = await connection.fetch(STAGES, job_id)
        added = [stage for stage in stages if stage not in {row["stage"] for row in rows}]
        if added:
            await connection.execute(LONGER, job_id, rows[-1]["position"], added)
            if all(row["status"] == StageStatus.DONE for row in rows):
                position = rows[-1]["position"] + 1
                await connection.execute(AGAIN_FROM, job_id, position)
                await connection.execute(GO_ON, job_id, False, False, None)
    return added


async def _stages(connection: Connection, job_id: int) -> list[Mapping[str, Any]]:
    rows = await connection.fetch(STAGES, job_id)
    running = [row["stage"] for row in rows if row["status"] == StageStatus.RUNNING]
    if running:
        raise StageRunningError(job_id, running[0])
    return list(rows)


def _found(rows: Sequence[Mapping[str, Any]], job_id: int, stage: str) -> Mapping[str, Any]:
    for row in rows:
        if row["stage"] == stage:
            return row
        if row["status"] != StageStatus.DONE:
            raise Refused(f"Stage '{row['stage']}' of job j{job_id} comes before '{stage}' and is not done yet.")
    raise Refused(f"Job j{job_id} has no stage '{stage}'. Its stages: {', '.join(row['stage'] for row in rows)}.")


async def _go_on_from(
    connection: Connection, job_id: int, rows: Sequence[Mapping[str, Any]], position: int, pause_note: str | None
) -> None:
    await connection.execute(AGAIN_FROM, job_id, position)
    is_over = position > rows[-1]["position"]
    await connection.execute(GO_ON, job_id, is_over, pause_note is not None, pause_note)
