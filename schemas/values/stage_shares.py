"""Where the time of a stage went."""

from schemas.values.base import Value


class StageShare(Value):
    """A stage over all jobs of a run, in seconds summed over its attempts, also concurrent ones."""

    stage: str
    attempts: int
    waiting_s: float
    """Due, and no worker had started it."""
    llm_s: float
    """Waited for language model calls that were paid, at most as long as the attempts took."""
    attempt_s: float
    """From the start of an attempt to its end."""
    first_start_s: float
    """After the submission."""
    last_end_s: float

    @property
    def other_s(self) -> float:
        """Everything else in the attempts: models in the worker, the database, Python."""
        return self.attempt_s - self.llm_s
