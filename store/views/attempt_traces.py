"""The attempts of a job, each with its calls of language models."""

from dataclasses import dataclass

from store.database import Connection
from store.runs import attempts, call_uses
from store.runs.attempts import Attempt
from store.runs.call_uses import CallUse


@dataclass(frozen=True, kw_only=True)
class AttemptTrace(Attempt):
    """One try of one stage, with the calls of language models that it made."""

    calls: list[CallUse]

    @property
    def paid(self) -> int:
        """Calls that this attempt paid for."""
        return sum(not call.is_reused for call in self.calls)

    @property
    def reused(self) -> int:
        """Calls that the ledger answered."""
        return len(self.calls) - self.paid

    @property
    def paid_tokens(self) -> tuple[int, int]:
        """Tokens that went in and came out of the paid calls; a server that counts none counts as 0."""
        paid = [call for call in self.calls if not call.is_reused]
        return sum(call.prompt_tokens or 0 for call in paid), sum(call.reply_tokens or 0 for call in paid)


async def attempt_traces(connection: Connection, job_id: int, stage: str | None = None) -> list[AttemptTrace]:
    """Every attempt of a job, or of one of its stages, oldest first."""
    tried = await attempts.history(connection, job_id, stage)
    calls = await call_uses.of_attempts(connection, [attempt.id for attempt in tried])
    return [AttemptTrace(**vars(attempt), calls=calls[attempt.id]) for attempt in tried]
