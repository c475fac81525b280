"""The heartbeat: one statement a second, or six in a lease, renews every lease of this process.

It has its own thread, loop and connection, so that neither model work nor a full pool can stall it.
"""

import asyncio
import math
import os
import signal
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Any, Literal

import structlog

from schemas.statuses import WaitReason
from schemas.values.runs import RunLimitState
from stages.ports import Deferred
from store.database import DATABASE_ERRORS, Database, LoopThread
from store.runs import ledger, stages
from store.runs.stages import Claim

log = structlog.get_logger(__name__)


def essential(work: "Future[Any] | asyncio.Task[Any]", name: str) -> None:
    """Let SIGTERM end this process when work that should last for ever ends with an error.

    A worker without its heartbeat would lose every stage, and one without its reaper would look alive and mend
    nothing; a supervisor starts a whole one instead.
    """

    def look(ended: "Future[Any] | asyncio.Task[Any]") -> None:
        if not ended.cancelled() and (error := ended.exception()) is not None:
            log.critical("essential_work_ended", work=name, error_type=type(error).__name__)
            os.kill(os.getpid(), signal.SIGTERM)

    work.add_done_callback(look)


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


class Leases:
    """The stages this process holds, kept alive."""

    def __init__(self, database_url: str, worker_id: str, *, lease_s: float, hung_s: float = math.inf) -> None:
        self._worker_id = worker_id
        self._lease_s = lease_s
        # A worker without a heartbeat for 10 s counts as gone.
        self._heartbeat_s = min(lease_s / 6, 1.0)
        self._held: dict[int, Claim] = {}
        self.on_cancelled: Callable[[Collection[int]], object] = lambda attempts: None
        """Called on its thread with the attempts that are held for jobs which are cancelled, again until they end."""
        self._released: dict[str, float] = {}
        self._most_beats = hung_s / self._heartbeat_s
        self._beats = 0
        self._thread = LoopThread("heartbeat")
        essential(self._thread.submit(self._beat(database_url)), "heartbeat")

    @property
    def count(self) -> int:
        """Stages held now."""
        return len(self._held)

    def kinds(self, within_s: float) -> set[str]:
        """The kinds of the jobs whose stages are held, or were until so many seconds ago."""
        since = time.monotonic() - within_s
        lately = {kind for kind, released in list(self._released.items()) if released > since}
        return lately | {claim.kind for claim in list(self._held.values())}

    def hold(self, claim: Claim) -> None:
        """Renew the lease of a claim from now on."""
        self._held[claim.attempt_id] = claim

    def release(self, claim: Claim) -> None:
        self._held.pop(claim.attempt_id, None)
        self._released[claim.kind] = time.monotonic()

    async def pulse(self) -> None:
        """Show for ever that the loop which runs this is not blocked: a process that cannot is ended."""
        while True:
            self._beats = 0
            await asyncio.sleep(self._heartbeat_s)

    def stop(self) -> None:
        self._thread.stop()

    async def _beat(self, database_url: str) -> None:
        database = Database(database_url, pool_size=1, application_name="ragq heartbeat")
        try:
            while True:
                # Beats are counted, as a suspended process has none of them.
                self._beats += 1
                if self._beats > self._most_beats:
                    log.critical("worker_killed", limit="RAGQ_HUNG_SECONDS")
                    os.kill(os.getpid(), signal.SIGKILL)
                try:
                    # A third: a beat that gets no answer leaves time for another before the leases run out.
                    held = list(self._held.values())
                    async with asyncio.timeout(self._lease_s / 3), database.connection() as connection:
                        cancelled = await stages.renew(connection, self._worker_id, held, self._lease_s)
                    if cancelled:
                        self.on_cancelled([claim.attempt_id for claim in held if claim.job_id in cancelled])
                except DATABASE_ERRORS as error:
                    log.warning("heartbeat_missed", error_type=type(error).__name__)
                await asyncio.sleep(self._heartbeat_s)
        finally:
            await database.close()


class PutOff(Exception):
    """A stage cannot continue now: it waits for its server, or its run may pay for no more. Nothing is wrong."""


class Waits(PutOff):
    """The stage is due again after some time."""

    def __init__(self, words: str, server: str, reason: WaitReason, wait_s: float, refusals: int = 0) -> None:
        self.server = server
        self.reason = reason
        self.wait_s = wait_s
        self.refusals = refusals
        super().__init__(words)


class ServerBusy(Waits):
    """A server of language models takes no call of the stage for some time."""

    def __init__(self, server: str, reason: WaitReason, wait_s: float, refusals: int) -> None:
        super().__init__(f"{server} takes no call for {wait_s:.1f} s ({reason})", server, reason, wait_s, refusals)


class AwaitsBatch(Waits, Deferred):
    """A call of the stage is part of a batch. The answer makes it due; without one, the time that a batch may take."""

    def __init__(self, server: str, hours: float) -> None:
        # In an hour more it is gathered, sent and collected.
        super().__init__(f"{server} answers with a batch", server, WaitReason.BATCH, (hours + 1) * 3600)


class BudgetSpent(PutOff):
    """A run has used its calls or tokens, and the stage needs another call."""

    def __init__(self, run_id: int, limits: RunLimitState) -> None:
        spent, option, most = f"{limits.llm_calls} language model calls", "--max-llm-calls", limits.max_llm_calls
        if limits.max_tokens is not None and limits.tokens >= limits.max_tokens:
            spent, option, most = f"{limits.tokens} tokens", "--max-tokens", limits.max_tokens
        super().__init__(
            f"r{run_id} has used {spent}, and its limit is {most}. "
            f"`ragq resume r{run_id} {option} {2 * (most or 1)}` continues it with a higher one."
        )


async def give_back(database: Database, claim: Claim, why: PutOff) -> None:
    """Make a stage that is held due again after its time, or pause its job."""
    if isinstance(why, Waits):
        is_ours = await database.ask(
            ledger.wait, claim, server=why.server, reason=why.reason, wait_s=why.wait_s, refusals=why.refusals
        )
    else:
        is_ours = await database.ask(ledger.pause, claim, str(why))
    if is_ours:
        log.info("stage_put_off", run_id=claim.run_id, job_id=claim.job_id, stage=claim.stage, reason=str(why))
