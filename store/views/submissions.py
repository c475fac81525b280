"""What a run was submitted with, to submit it again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from store.database import Connection
from store.runs import overviews, stored_runs
from store.runs.overviews import RunOverview

JOBS = """
SELECT j.mode, j.subject, j.inputs, q.original_query AS question, q.reference_answer
FROM job AS j LEFT JOIN queries AS q ON q.job_id = j.id
WHERE j.run_id = $1 ORDER BY j.ordinal
"""


@dataclass(frozen=True, kw_only=True)
class SubmittedJob:
    """One job as it was submitted. A question that was edited since has its present text."""

    mode: str
    subject: str
    inputs: dict[str, Any] = field(repr=False)
    question: str | None = field(repr=False)
    reference_answer: str | None = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A run as it was submitted."""

    overview: RunOverview
    settings: dict[str, Any]
    jobs: Sequence[SubmittedJob]


async def submission(connection: Connection, run_id: int) -> Submission:
    """A run with the inputs of its jobs, in their order. Raises RunMissingError."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        overview = await overviews.get(connection, run_id)
        return Submission(
            overview=overview,
            settings=await stored_runs.settings(connection, run_id),
            jobs=[SubmittedJob(**row) for row in await connection.fetch(JOBS, run_id)],
        )
