"""Where the time of a stage went."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class StageShare:
    """A stage over all jobs of a run, in seconds summed over its attempts, also concurrent ones."""

    stage: str
    waiting_s: float
    """Due, and no worker had started it."""
    llm_s: float
    """Waited for language model calls that were paid, at most as long as the attempts took."""
    database_s: float | None
    """Waited for the database, of attempts that measured it; at most what language model calls left of them, because
    both can be waited for at once. The claim and the commit of an attempt are in `other_s`. None without such attempts.
    """
    unmeasured_s: float
    """What language model calls left of attempts that did not measure the database: those of older versions, and those
    that a worker did not end."""
    attempt_s: float
    """From the start of an attempt to its end."""

    @property
    def other_s(self) -> float | None:
        """Everything else in the attempts that measured the database: models in the worker, Python."""
        if self.database_s is None:
            return None
        return self.attempt_s - self.llm_s - self.database_s - self.unmeasured_s
