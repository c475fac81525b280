"""Why a stage is given back before it is done, and how.

It waits for its server or for a worker of another version, or its run may pay for no more.
"""

from typing import Final

import structlog

from schemas.errors import Refused
from schemas.statuses import WaitReason
from schemas.values.runs import RunLimitState
from store.database import Connection, Database
from store.runs import put_off
from store.runs.stages import Claim

log = structlog.get_logger(__name__)

#: How long a stage stays away from a worker that does not know its settings.
_OTHER_VERSION_SECONDS: Final = 5.0


class PutOff(Exception):
    """A stage cannot continue now; nothing is wrong with it."""


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


class UnknownSettings(Waits):
    """A run has settings that this version does not know, as one does that a newer version submitted."""

    def __init__(self, worker_id: str, refused: Refused) -> None:
        super().__init__(str(refused), f"worker {worker_id}", WaitReason.SETTINGS, _OTHER_VERSION_SECONDS)


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

    async def store(connection: Connection) -> bool:
        if isinstance(why, Waits):
            return await put_off.wait(
                connection, claim, server=why.server, reason=why.reason, wait_s=why.wait_s, refusals=why.refusals
            )
        return await put_off.pause(connection, claim, str(why))

    if await database.with_retry(store):
        log.info("stage_put_off", run_id=claim.run_id, job_id=claim.job_id, stage=claim.stage, reason=str(why))
