"""What a command or a request is about: a run or one of its jobs."""

from typing import NamedTuple


class Target(NamedTuple):
    """A run or a job: exactly one of the two is set."""

    run_id: int | None
    job_id: int | None

    def __str__(self) -> str:
        return f"r{self.run_id}" if self.job_id is None else f"j{self.job_id}"
