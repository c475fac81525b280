"""The frame around every stage: claim, read and compute, commit; or store the error and end the chain.

No transaction is open while a stage computes. Whatever happens to this process, the rows hold the truth: a claim
without a commit runs out with its lease, a commit without its message is sent on by the reaper, and a message that
comes twice finds nothing to claim.
"""

import asyncio
import json
import random
from collections.abc import Collection, Mapping
from enum import Enum, auto
from functools import lru_cache
from typing import Any

import structlog
from aiorwlock import RWLock

from schemas.errors import RagqError, UnusableReply
from schemas.settings.process import ProcessSettings
from schemas.settings.run import FrozenSettings, thaw
from schemas.statuses import StageStatus
from schemas.values.base import Value
from schemas.values.runs import AttemptError
from stages import failures
from store.database import RESULT_RETRY_SECONDS, Connection, Database, DatabaseUnavailableError
from store.runs import backlog, ledger, runs, stages
from store.runs.stages import Claim
from workers import telemetry
from workers.batcher import waiting
from workers.leases import Leases, PutOff, crash_point, give_back
from workers.ledger_chat import Remembered
from workers.wiring import Wiring
from workers.work import Result, StageFunctions, Work

log = structlog.get_logger("ragq.stages")

#: A transport error is retried after 1, 2, 4 ... seconds, at most this many.
LONGEST_RETRY_SECONDS = 60.0


class Outcome(Enum):
    """How a message ended."""

    #: The stage is stored; the chain continues.
    STORED = auto()
    #: The stage was stored before; the chain continues because its next message may be missing.
    FORWARDED = auto()
    #: Somebody else has it, or nothing is to be done: this copy of the message ends here.
    NOTHING_TO_DO = auto()


class StageRunner:
    """Runs stages of one process."""

    def __init__(
        self,
        database: Database,
        leases: Leases,
        wiring: Wiring,
        functions: StageFunctions,
        settings: ProcessSettings,
        *,
        worker_id: str,
    ) -> None:
        self._database = database
        self._leases = leases
        self._wiring = wiring
        self._functions = functions
        self._worker_id = worker_id
        self._lease_s = settings.ragq_lease_seconds
        self._grace_s = settings.ragq_republish_seconds
        self._max_interruptions = settings.ragq_max_interruptions
        # Interruptions after which one more would poison the job.
        self._last_chance = max(self._max_interruptions - 1, 1)
        # A stage that kills its process interrupts the stages that run with it, and each of them counts that. So a
        # stage that may not be interrupted once more runs alone: no neighbour of a poisonous job is poisoned with it.
        self._lock = RWLock()
        self._frozen_runs: Remembered[int, tuple[FrozenSettings, int]] = Remembered()
        self._running: dict[int, asyncio.Task[Any]] = {}
        self._cancelled: set[int] = set()
        self._is_stopping = False

    def stop(self) -> None:
        """Claim no more stages, and give back those that are held: each is due again, for any worker."""
        self._is_stopping = True
        for task in self._running.values():
            task.cancel()

    def cancel(self, attempts: Collection[int]) -> None:
        """End these attempts, whose jobs are cancelled: a call that a model answers is broken off."""
        for attempt in attempts:
            if (task := self._running.pop(attempt, None)) is not None:
                self._cancelled.add(attempt)
                task.cancel()

    async def run(self, stage: str, job_id: int, *, is_redelivered: bool) -> Outcome:
        """Take one message for a stage through to its end. When the stage fails, its exception is stored and raised
        again: ragq's own as it is, any other as StageFailed, without its words."""
        try:
            return await self._run(stage, job_id, is_redelivered)
        except DatabaseUnavailableError as error:
            # Nothing is wrong with the stage: its lease runs out, and it is run again when the database is back.
            log.warning("stage_left_to_its_lease", job_id=job_id, stage=stage, error=str(error))
            return Outcome.NOTHING_TO_DO

    async def _run(self, stage: str, job_id: int, is_redelivered: bool) -> Outcome:
        async with self._lock.reader:
            claim = await self._claim(stage, job_id, interrupted_below=self._last_chance)
            if claim is not None:
                return await self._hold(claim)
        found = await self._database.ask(stages.look, job_id, stage)
        if found is not None and found.status is StageStatus.READY and found.interruptions >= self._last_chance:
            async with self._lock.writer:
                claim = await self._claim(stage, job_id)
                if claim is not None:
                    return await self._hold(claim)
        next_stage = await self._database.ask(
            stages.forward, job_id, stage, redelivered=is_redelivered, grace_s=self._grace_s
        )
        return Outcome.NOTHING_TO_DO if next_stage is None else Outcome.FORWARDED

    async def _hold(self, claim: Claim) -> Outcome:
        crash_point("after_claim", claim.stage, claim.attempt)
        self._leases.hold(claim)
        task = asyncio.current_task()
        assert task is not None
        self._running[claim.attempt_id] = task
        try:
            with waiting() as in_queues, telemetry.stage(claim):
                return await self._carry_out(claim, in_queues)
        except asyncio.CancelledError:
            is_cancelled = claim.attempt_id in self._cancelled
            if not (self._is_stopping or is_cancelled):
                raise
            task.uncancel()
            is_given_back = await self._database.ask(stages.give_back, claim, is_cancelled=is_cancelled)
            ended = "stage_cancelled" if is_cancelled else "stage_given_back"
            log.info(ended if is_given_back else "stage_was_stored", job_id=claim.job_id, stage=claim.stage)
            return Outcome.NOTHING_TO_DO
        finally:
            self._running.pop(claim.attempt_id, None)
            self._cancelled.discard(claim.attempt_id)
            self._leases.release(claim)

    async def _claim(self, stage: str, job_id: int, *, interrupted_below: int | None = None) -> Claim | None:
        async def take(connection: Connection) -> Claim | None:
            if self._is_stopping:
                return None
            return await stages.claim(
                connection, job_id, stage, self._worker_id, self._lease_s, interrupted_below=interrupted_below
            )

        async def claim(connection: Connection) -> Claim | None:
            taken = await take(connection)
            if taken is None and self._database.reachable_for_s >= self._lease_s:
                found = await stages.look(connection, job_id, stage)
                if found is not None and found.is_expired:
                    await stages.expire(connection, max_interruptions=self._max_interruptions, job_id=job_id)
                    taken = await take(connection)
            return taken

        return await self._database.with_retry(claim)

    async def _carry_out(self, claim: Claim, in_queues: list[float]) -> Outcome:
        function = self._functions[claim.kind, claim.mode, claim.stage]
        bound = log.bind(run_id=claim.run_id, job_id=claim.job_id, stage=claim.stage, attempt=claim.attempt)
        bound.debug("stage_started")
        read: dict[str, Any] = {}
        retries = 0
        try:
            frozen, draw = await self._frozen_runs.load(
                claim.run_id, lambda: self._database.ask(frozen_run, claim.run_id)
            )
            retries = frozen.run.ragq.retries
            work = Work(claim, frozen.run, self._database, self._wiring, read, frozen.preset, draw)
            computed = await function(work)
            result = computed if isinstance(computed, Result) else Result(computed)
            crash_point("after_compute", claim.stage, claim.attempt)
            is_stored = await self._commit(claim, read, result, sum(in_queues))
        except DatabaseUnavailableError:
            raise
        except PutOff as why:
            await give_back(self._database, claim, why)
            return Outcome.NOTHING_TO_DO
        except Exception as error:  # noqa: BLE001  (whatever a stage raises is stored, and raised)
            retry_in_s = _retry_wait(claim, error, retries)
            await self._fail(claim, read, error, sum(in_queues), retry_in_s)
            bound.error("stage_failed", error_type=failures.type_name(error), error=failures.shown_message(error))
            raise (error if isinstance(error, RagqError) else failures.StageFailed(failures.type_name(error))) from None
        if not is_stored:
            bound.warning("stage_result_thrown_away")
            return Outcome.NOTHING_TO_DO
        bound.info("stage_stored")
        crash_point("after_commit", claim.stage, claim.attempt)
        return Outcome.STORED

    async def _commit(self, claim: Claim, read: Mapping[str, Any], result: Result[Value], waited_s: float) -> bool:
        output = result.output.model_dump(mode="json")
        crash_point("before_commit", claim.stage, claim.attempt)
        return await self._database.with_retry(
            lambda connection: stages.commit(
                connection,
                claim,
                inputs=read,
                output=output,
                vectors=result.vectors,
                effect=result.effect,
                texts=result.texts,
                waited_s=waited_s,
            ),
            retry_for_s=RESULT_RETRY_SECONDS,
        )

    async def _fail(
        self, claim: Claim, read: Mapping[str, Any], error: Exception, waited_s: float, retry_in_s: float | None
    ) -> None:
        message = failures.shown_message(error)
        if retry_in_s is None and failures.is_transport_error(error) and not isinstance(error, RagqError):
            message += f". `ragq doctor` shows whether the server answers; `ragq retry j{claim.job_id}` continues then."
        stored = AttemptError(
            failures.type_name(error), message, failures.categorise(error, claim.stage), failures.private_details(error)
        )

        async def store(connection: Connection) -> None:
            async with connection.transaction():
                is_ours = await stages.fail(
                    connection, claim, stored, inputs=read, retry_in_s=retry_in_s, waited_s=waited_s
                )
                if is_ours and isinstance(error, UnusableReply):
                    # No reply alone is at fault: together they could not be used.
                    await ledger.reject_last(connection, claim.attempt_id, error.calls)

        await self._database.with_retry(store)
        await self._database.ask(backlog.stop_failing, claim.run_id)


async def frozen_run(connection: Connection, run_id: int) -> tuple[FrozenSettings, int]:
    """The settings of a run, which runs of equal settings share, and its draw. Raises Refused as `thaw` does."""
    snapshot, draw = await runs.frozen_settings(connection, run_id)
    return _thawed(json.dumps(snapshot)), draw


@lru_cache(maxsize=100)
def _thawed(snapshot: str) -> FrozenSettings:
    return thaw(json.loads(snapshot))


def _retry_wait(claim: Claim, error: Exception, retries: int) -> float | None:
    if claim.retries >= retries or not failures.is_transport_error(error):
        return None
    return min(2.0**claim.retries * random.uniform(0.75, 1.25), LONGEST_RETRY_SECONDS)
