"""Jobs changed after their submission: an output set, a stage repeated, stages appended or removed.

What was computed from the old state is stale: later stages wait again, and their attempts stay as history. An edit is
refused while a stage runs, because its result would be stored into a job that has changed meanwhile.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple

from schemas.errors import Refused, StageRunningError
from schemas.settings.frozen import thaw
from schemas.statuses import AttemptOutcome, StageStatus
from schemas.suggestions import did_you_mean
from store.database import Connection
from store.runs.chain import attempt_hash, content_hash

MANUAL: Final = "manual"
"""The worker of an output that no worker computed."""

# Every change of a chain locks its first stage, which is never removed. Stages are locked before their job,
# and in their order, as a claim and a commit do it.
FIRST = "SELECT FROM stage_run WHERE job_id = $1 AND position = 0 FOR UPDATE"

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
RETURNING id
"""

CARRIED = "SELECT job_id, stage, number, output, output_hash FROM stage_attempt WHERE id = $1"

SAME_VECTORS = """
INSERT INTO stage_vector (attempt_id, ordinal, vector, text_key, is_cut)
SELECT $2, ordinal, vector, text_key, is_cut FROM stage_vector WHERE attempt_id = $1
"""

DONE = """
UPDATE stage_run
SET status = 'done', fence = $3, attempts = $4, started_at = now(), finished_at = now(), interruptions = 0, retries = 0,
    enq_n = 0, not_before = NULL
WHERE job_id = $1 AND stage = $2
"""

# A higher fence: a worker that still computes for the old state can no longer store its result.
AGAIN_FROM = """
UPDATE stage_run
SET status = CASE WHEN position = $2 THEN 'ready' ELSE 'waiting' END, fence = fence + 1, started_at = NULL,
    finished_at = NULL, interruptions = 0, retries = 0, enq_at = CASE WHEN position = $2 THEN now() END, enq_n = 0,
    not_before = NULL
WHERE job_id = $1 AND position >= $2
"""

CONTINUE = """
UPDATE job
SET status = CASE WHEN $2 THEN 'succeeded' ELSE 'waiting' END, note = NULL, finished_at = CASE WHEN $2 THEN now() END
WHERE id = $1
"""

# A stage that the job had before continues with the number and the fence of its last attempt.
LONGER = """
INSERT INTO stage_run (job_id, stage, position, status, fence, attempts, interruptions, retries, enq_n, queue)
SELECT $1, s.stage, $2 + s.ordinal, 'waiting', coalesce(max(a.fence), 0), coalesce(max(a.number), 0), 0, 0, 0,
       nullif(s.queue, s.stage)
FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS s (stage, queue, ordinal)
LEFT JOIN stage_attempt AS a ON a.job_id = $1 AND a.stage = s.stage
GROUP BY s.stage, s.queue, s.ordinal
"""

SUBMITTED = """
SELECT j.kind, j.mode, j.inputs, r.settings FROM job AS j JOIN run AS r ON r.id = j.run_id WHERE j.id = $1
"""

SHORTER = "DELETE FROM stage_run WHERE job_id = $1 AND position > $2"


class StageState(NamedTuple):
    """The state of one stage of a chain."""

    stage: str
    position: int
    status: str
    attempts: int
    fence: int


async def stage_states(connection: Connection, job_id: int) -> list[StageState]:
    """The stages of a job in their order, locked until the transaction ends. Raises StageRunningError."""
    await connection.execute(FIRST, job_id)
    found = [
        StageState(**{**row, "status": StageStatus(row["status"])}) for row in await connection.fetch(STAGES, job_id)
    ]
    for of in found:
        if of.status is StageStatus.RUNNING:
            raise StageRunningError(
                f"Stage '{of.stage}' of job j{job_id} is running; wait until it is done, or `ragq pause "
                f"j{job_id}` first."
            )
    return found


async def set_output(connection: Connection, job_id: int, stage: str, output: Mapping[str, Any]) -> None:
    """Store an output for a stage, as an attempt of it, and make the stages after it run again.

    Raises Refused when the job has no such stage and when a stage before it is not done, StageRunningError while a
    stage runs.
    """
    async with connection.transaction():
        await _put(connection, job_id, stage, {"by": MANUAL}, output, content_hash(output))


async def carry_over(connection: Connection, attempt_id: int, job_id: int) -> None:
    """Store the output and vectors of another job's attempt as an attempt of the same stage. Raises as `set_output`."""
    async with connection.transaction():
        old = await connection.fetchrow(CARRIED, attempt_id)
        inputs = {"by": MANUAL, "from": {"job": old["job_id"], "attempt": old["number"]}}
        copy = await _put(connection, job_id, old["stage"], inputs, old["output"], old["output_hash"])
        await connection.execute(SAME_VECTORS, attempt_id, copy)


async def redo(connection: Connection, job_id: int, stage: str) -> None:
    """Make a stage and those after it run again. Raises as `set_output`."""
    async with connection.transaction():
        chain = await stage_states(connection, job_id)
        await _continue_from(connection, job_id, chain, _reached(chain, job_id, stage).position)


async def append_stages(connection: Connection, job_id: int, stages: Sequence[str]) -> list[str]:
    """Append those of the stages that a job lacks; returns what was added, in order.

    A job that had finished continues with the first of them. `stages` is the whole chain from its first stage.
    Raises StageRunningError: the commit of the last stage of a chain must know that it is the last.
    """
    async with connection.transaction():
        chain = await stage_states(connection, job_id)
        last = chain[-1].position
        added = [stage for stage in stages if stage not in {of.stage for of in chain}]
        if added:
            await connection.execute(LONGER, job_id, last, added, await _queues(connection, job_id, added))
            if _is_done(chain):
                await _continue_from(connection, job_id, await stage_states(connection, job_id), last + 1)
    return added


async def set_stages(connection: Connection, job_id: int, stages: Sequence[str]) -> None:
    """Make these the stages of a job: those from the first that differs are removed, and what is missing is appended.

    Raises as `append_stages` does.
    """
    async with connection.transaction():
        stored = [of.stage for of in await stage_states(connection, job_id)]
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(stored, stages, strict=False)))
        if common < len(stored):
            await truncate_after(connection, job_id, stored[common - 1])
        await append_stages(connection, job_id, stages)


async def truncate_after(connection: Connection, job_id: int, stage: str) -> None:
    """Remove the stages of a job after a stage. What they computed stays as attempts.

    Raises Refused when the job has no such stage, StageRunningError while a stage runs.
    """
    async with connection.transaction():
        chain = await stage_states(connection, job_id)
        last = _of(chain, job_id, stage).position
        await connection.execute(SHORTER, job_id, last)
        if _is_done(chain[: last + 1]):
            await connection.execute(CONTINUE, job_id, True)


async def _queues(connection: Connection, job_id: int, stages: Sequence[str]) -> list[str]:
    job = await connection.fetchrow(SUBMITTED, job_id)
    settings = thaw(job["settings"])
    return [settings.queue_of(job["kind"], job["mode"], stage, job["inputs"]) for stage in stages]


async def _put(
    connection: Connection,
    job_id: int,
    stage: str,
    inputs: Mapping[str, Any],
    output: Mapping[str, Any],
    output_hash: str,
) -> int:
    chain = await stage_states(connection, job_id)
    job = await connection.fetchrow(JOB, job_id)
    of = _reached(chain, job_id, stage)
    number, fence = of.attempts + 1, of.fence + 1
    link = attempt_hash(
        previous_hash=job["previous_hash"],
        job_id=job_id,
        stage=stage,
        number=number,
        outcome=AttemptOutcome.SUCCEEDED,
        settings_hash=job["settings_hash"],
        inputs=inputs,
        output_hash=output_hash,
    )
    attempt_id: int = await connection.fetchval(
        GIVEN,
        job_id,
        stage,
        number,
        fence,
        MANUAL,
        AttemptOutcome.SUCCEEDED,
        json.dumps(inputs),
        json.dumps(output),
        output_hash,
        job["previous_hash"],
        link,
    )
    await connection.execute(DONE, job_id, stage, fence, number)
    await _continue_from(connection, job_id, chain, of.position + 1)
    return attempt_id


def _of(chain: Sequence[StageState], job_id: int, stage: str) -> StageState:
    for of in chain:
        if of.stage == stage:
            return of
    stages = [of.stage for of in chain]
    raise Refused(
        f"Job j{job_id} has no stage '{stage}'.{did_you_mean(stage, stages)} Its stages: {', '.join(stages)}."
    )


def _reached(chain: Sequence[StageState], job_id: int, stage: str) -> StageState:
    reached = _of(chain, job_id, stage)
    for of in chain[: reached.position]:
        if of.status != StageStatus.DONE:
            raise Refused(f"Stage '{of.stage}' of job j{job_id} comes before '{stage}' and is not done yet.")
    return reached


def _is_done(chain: Sequence[StageState]) -> bool:
    return all(of.status == StageStatus.DONE for of in chain)


async def _continue_from(connection: Connection, job_id: int, chain: Sequence[StageState], position: int) -> None:
    await connection.execute(AGAIN_FROM, job_id, position)
    await connection.execute(CONTINUE, job_id, position > chain[-1].position)
