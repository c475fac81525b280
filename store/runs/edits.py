"""Jobs changed after their submission: an output set, a stage repeated, stages appended or removed.

What was computed from the old state is stale: later stages wait again, and their attempts stay as history. An edit is
refused while a stage runs, because its result would be stored into a job that has changed meanwhile.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any, Final

import asyncpg
import structlog

from schemas.errors import Refused, StageRunningError
from schemas.settings.run import thaw
from schemas.statuses import AttemptOutcome, StageStatus
from schemas.suggestions import did_you_mean
from store.database import DATABASE_ERRORS, Connection, asyncpg_url
from store.runs import answer_pieces, forks
from store.runs.chain import MANUAL, Link, content_hash
from store.runs.stages import STATE, StageState

# Every change of a chain locks its first stage, which is never removed. Stages are locked before their job,
# and in their order, as a claim and a commit do it.
FIRST = "SELECT FROM stage_run WHERE job_id = $1 AND position = 0 FOR UPDATE"

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

INPUTS = "UPDATE job SET inputs = (inputs - $2::text[]) || jsonb_strip_nulls($3::jsonb) WHERE id = $1"

SUBMITTED = "SELECT j.kind, j.mode, j.inputs, r.settings FROM job AS j JOIN run AS r ON r.id = j.run_id WHERE j.id = $1"


async def stage_states(connection: Connection, job_id: int) -> list[StageState]:
    """The stages of a job in their order, locked until the transaction ends. Raises StageRunningError."""
    await connection.execute(FIRST, job_id)
    found = [StageState(**row) for row in await connection.fetch(f"{STATE} ORDER BY position FOR UPDATE", job_id)]
    for of in found:
        if of.status == StageStatus.RUNNING:
            raise StageRunningError(
                f"Stage '{of.stage}' of job j{job_id} is running; wait until it is done, or `ragq pause "
                f"j{job_id}` first."
            )
    return found


async def set_output(connection: Connection, job_id: int, stage: str, output: Mapping[str, Any]) -> None:
    """Store an output for a stage, as an attempt of it, and make the stages after it run again. Raises Refused when the
    job has no such stage and when a stage before it is not done, StageRunningError while a stage runs."""
    async with connection.transaction():
        await _put(connection, job_id, stage, {"by": MANUAL}, output, content_hash(output))


async def carry_over(connection: Connection, attempt_id: int, job_id: int) -> None:
    """Store the output and vectors of another job's attempt as an attempt of the same stage. Raises as `set_output`."""
    async with connection.transaction():
        old = await connection.fetchrow(CARRIED, attempt_id)
        inputs = {"by": MANUAL, "from": {"job": old["job_id"], "attempt": old["number"]}}
        copy = await _put(connection, job_id, old["stage"], inputs, old["output"], old["output_hash"])
        await connection.execute(forks.VECTORS, [copy], [attempt_id])


async def set_inputs(connection: Connection, job_id: int, **inputs: Any) -> None:
    """Change inputs of a job; those that are None are removed. What they invalidate is the caller's to repeat."""
    await connection.execute(INPUTS, job_id, list(inputs), json.dumps(inputs))


async def redo(connection: Connection, job_id: int, stage: str) -> None:
    """Make a stage and those after it run again. Raises as `set_output`."""
    async with connection.transaction():
        chain = await stage_states(connection, job_id)
        await _continue_from(connection, job_id, _reached(chain, job_id, stage).position, of=len(chain))


async def set_stages(connection: Connection, job_id: int, stages: Sequence[str]) -> None:
    """Make these the stages of a job: those from the first that differs are removed, and what is missing is appended.

    What removed stages computed stays as attempts. A job that had finished continues with the first new stage; one
    whose other stages are done has finished. Raises StageRunningError: the commit of the last stage of a chain must
    know that it is the last.
    """
    async with connection.transaction():
        chain = await stage_states(connection, job_id)
        pairs = zip([of.stage for of in chain], stages, strict=False)
        kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        added = list(stages[kept:])
        if kept == len(chain) and not added:
            return
        await connection.execute("DELETE FROM stage_run WHERE job_id = $1 AND position >= $2", job_id, kept)
        job = await connection.fetchrow(SUBMITTED, job_id)
        frozen = thaw(job["settings"])
        queues = [frozen.queue_of(job["kind"], job["mode"], stage, job["inputs"]) for stage in added]
        await connection.execute(LONGER, job_id, kept - 1, added, queues)
        if all(of.status == StageStatus.DONE for of in chain[:kept]):
            await _continue_from(connection, job_id, kept, of=len(stages))


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
    link = Link(
        previous_hash=job["previous_hash"],
        job_id=job_id,
        stage=stage,
        number=number,
        outcome=AttemptOutcome.SUCCEEDED,
        settings_hash=job["settings_hash"],
        inputs=inputs,
        output_hash=output_hash,
    ).hash
    closing = (json.dumps(inputs), json.dumps(output), output_hash, job["previous_hash"], link)
    attempt_id: int = await connection.fetchval(
        GIVEN, job_id, stage, number, fence, MANUAL, AttemptOutcome.SUCCEEDED, *closing
    )
    await connection.execute(DONE, job_id, stage, fence, number)
    await _continue_from(connection, job_id, of.position + 1, of=len(chain))
    return attempt_id


def _reached(chain: Sequence[StageState], job_id: int, stage: str) -> StageState:
    """A stage before which every stage is done. Raises Refused for one that is not reached, or not there."""
    stages = [of.stage for of in chain]
    if stage not in stages:
        raise Refused(
            f"Job j{job_id} has no stage '{stage}'.{did_you_mean(stage, stages)} Its stages: {', '.join(stages)}."
        )
    *before, reached = chain[: stages.index(stage) + 1]
    for of in before:
        if of.status != StageStatus.DONE:
            raise Refused(f"Stage '{of.stage}' of job j{job_id} comes before '{stage}' and is not done yet.")
    return reached


async def _continue_from(connection: Connection, job_id: int, position: int, *, of: int) -> None:
    """Make the stages from a position run again; a job without any of them has finished."""
    await connection.execute(AGAIN_FROM, job_id, position)
    await connection.execute(CONTINUE, job_id, position >= of)


# Triggers notify what a transaction changed when it commits, by ids, and only while a process listens. One connection
# of a process listens, while it has subscriptions. A notification only means that something may be new: what it is, is
# read from the rows.

log = structlog.get_logger(__name__)

CHANNEL: Final = "ragq_changes"

# The triggers notify for half a minute after this row was renewed.
LISTEN_ON = "INSERT INTO change_listener (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET listened_at = now()"

_RENEWED_EVERY_SECONDS = 5.0
_TRIES_AGAIN_SECONDS = 1.0
_STATEMENT_SECONDS = 5.0


@dataclass(frozen=True, eq=False)
class Subscription:
    """One subscription. Changes that come faster than they are read become one; a slow reader costs nothing."""

    run_id: int | None
    job_id: int | None
    with_answers: bool
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    async def next(self, timeout_s: float) -> bool:
        """Whether anything changed since the last call, as soon as it does; False when nothing did for that long."""
        try:
            async with asyncio.timeout(timeout_s):
                await self.woken.wait()
        except TimeoutError:
            return False
        self.woken.clear()
        return True


class Changes:
    """The changes of a database, for all subscriptions of a process. Belongs to one event loop."""

    def __init__(self, database_url: str) -> None:
        self._connect = partial(
            asyncpg.connect,
            asyncpg_url(database_url),
            timeout=_STATEMENT_SECONDS,
            command_timeout=_STATEMENT_SECONDS,
            server_settings={"application_name": "ragq changes"},
        )
        self._subscriptions: set[Subscription] = set()
        self._listening: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def subscribe(
        self, *, run_id: int | None = None, job_id: int | None = None, with_answers: bool = False
    ) -> AsyncIterator[Subscription]:
        """Wait for changes of a run, of a job, or of anything; and for pieces of answers, which change no state.
        Subscribe first and read the rows then. When the connection is made, and whenever it had to be made again, every
        subscription is woken once."""
        subscription = Subscription(run_id, job_id, with_answers)
        self._subscriptions.add(subscription)
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen())
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    async def close(self) -> None:
        """Stop listening. Open subscriptions are not woken any more."""
        if self._listening is not None:
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening

    async def _listen(self) -> None:
        while self._subscriptions:
            try:
                await self._listen_on_one_connection()
            except DATABASE_ERRORS as error:
                log.warning("changes_not_heard", error_type=type(error).__name__)
                await asyncio.sleep(_TRIES_AGAIN_SECONDS)
        self._listening = None

    async def _listen_on_one_connection(self) -> None:
        """Until the connection is lost, or there is no subscription."""
        connection = await self._connect()
        lost = asyncio.Event()
        try:
            connection.add_termination_listener(lambda _connection: lost.set())
            await connection.execute(LISTEN_ON)
            await connection.add_listener(CHANNEL, self._hear)
            await connection.add_listener(answer_pieces.CHANNEL, self._hear_answer)
            for subscription in self._subscriptions:
                subscription.woken.set()
            while not lost.is_set() and self._subscriptions:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_RENEWED_EVERY_SECONDS):
                        await lost.wait()
                if not lost.is_set():
                    await connection.execute(LISTEN_ON)
        finally:
            connection.terminate()

    def _hear(self, _connection: Any, _pid: int, _channel: str, payload: str) -> None:
        """A job of a run changed, or without a job many of them."""
        run_id, job_id = (json.loads(payload)[name] for name in ("run", "job"))
        for of in self._subscriptions:
            if of.run_id in (None, run_id) and (job_id is None or of.job_id in (None, job_id)):
                of.woken.set()

    def _hear_answer(self, _connection: Any, _pid: int, _channel: str, payload: str) -> None:
        """A job wrote more of an answer."""
        for of in self._subscriptions:
            if of.with_answers and of.job_id in (None, int(payload)):
                of.woken.set()
