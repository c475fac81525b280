"""The lineage of a job: every attempt with its calls, and the texts behind the ids in its outputs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from schemas.statuses import JobStatus, StageStatus
from store.corpora import works
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery, StoredResult
from store.references import references
from store.runs import stage_runs
from store.runs.stage_runs import StageRun
from store.views.attempt_traces import AttemptTrace, attempt_traces

JOB = """
SELECT j.id AS job_id, j.run_id, j.kind, j.mode, j.subject, j.status, j.note, j.created_at, j.finished_at,
       r.profile, r.request, now() AS read_at
FROM job AS j JOIN run AS r ON r.id = j.run_id
WHERE j.id = $1
"""


@dataclass(frozen=True, kw_only=True)
class StageTrace(StageRun):
    """A stage of the job, and the attempt whose output counts."""

    current: AttemptTrace | None
    """None while the stage has not stored anything that counts."""


@dataclass(frozen=True, kw_only=True)
class JobTrace:
    """A job with its whole history, all of it read at one moment."""

    job_id: int
    run_id: int
    kind: str
    mode: str
    subject: str
    status: JobStatus
    note: str | None
    created_at: datetime
    finished_at: datetime | None
    profile: str
    request: dict[str, Any]
    read_at: datetime
    """The database's clock when the rows were read."""
    stages: list[StageTrace]
    """In the order of the chain."""
    attempts: list[AttemptTrace]
    """Oldest first, including those of stages that are no longer in the chain."""
    question: StoredQuery | None
    """What a job of kind `query` is about."""
    answers: list[StoredResult] = field(repr=False)
    titles: dict[int, str] = field(repr=False)
    """Titles of the works that outputs name, by number."""
    reference_texts: dict[int, str] = field(repr=False)
    """Texts of the reference chunks that outputs name, by number; chunks of an index that is gone are absent."""


async def job_trace(connection: Connection, job_id: int) -> JobTrace | None:
    """A job; None when there is none of that number."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        job = await connection.fetchrow(JOB, job_id)
        if job is None:
            return None
        (stages,) = (await stage_runs.of_jobs(connection, [job_id])).values()
        tried = await attempt_traces(connection, job_id)
        outputs = [attempt.output for attempt in tried if attempt.output is not None]
        question = await queries.of_job(connection, job_id) if job["kind"] == "query" else None
        answers = [] if question is None else await queries.results(connection, question.id)
        work_ids = {id_ for output in outputs for id_ in _numbers(output, "work_id")}
        titles = await works.titles(connection, sorted(work_ids)) if work_ids else {}
        chunk_ids = {id_ for output in outputs for id_ in _numbers(output, "chunk_id")}
        is_scored = job["kind"] == "participant" and chunk_ids
        texts = await references.chunk_texts(connection, sorted(chunk_ids)) if is_scored else {}
    of_stage = {(attempt.stage, attempt.number): attempt for attempt in tried}
    return JobTrace(
        **{**job, "status": JobStatus(job["status"])},
        stages=[_stage(stage, of_stage.get((stage.stage, stage.attempts))) for stage in stages],
        attempts=tried,
        question=question,
        answers=answers,
        titles=titles,
        reference_texts=texts,
    )


def _stage(stage: StageRun, last: AttemptTrace | None) -> StageTrace:
    return StageTrace(**vars(stage), current=last if stage.status is StageStatus.DONE else None)


def _numbers(value: Any, name: str) -> Iterator[int]:
    """Every whole number under a name anywhere in an output."""
    if isinstance(value, Mapping):
        found = value.get(name)
        if isinstance(found, int):
            yield found
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _numbers(part, name)
