"""A job as people follow it back: every attempt with its calls, and the words behind the numbers in its outputs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from schemas.statuses import AttemptOutcome, JobStatus, StageStatus
from schemas.values.failures import AttemptError
from store.corpora import works
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery, StoredResult
from store.references import references
from store.runs import attempts, ledger, stage_runs

JOB = """
SELECT j.id AS job_id, j.run_id, j.kind, j.mode, j.subject, j.status, j.note, j.created_at, j.finished_at,
       r.profile, r.request, now() AS read_at
FROM job AS j JOIN run AS r ON r.id = j.run_id
WHERE j.id = $1
"""


@dataclass(frozen=True, kw_only=True)
class CallTrace:
    """A language model call as an attempt made it."""

    call_id: int
    purpose: str
    model: str
    digest: str
    is_reused: bool
    is_rejected: bool
    """No stage could use the reply; it is never given out again."""
    messages: list[dict[str, str]] = field(repr=False)
    reply: str = field(repr=False)
    stop_reason: str
    prompt_tokens: int | None
    reply_tokens: int | None
    seconds: float
    """Of the one that was paid for."""


@dataclass(frozen=True, kw_only=True)
class AttemptTrace:
    """One try of one stage."""

    id: int
    stage: str
    number: int
    outcome: AttemptOutcome
    worker_id: str
    host: str | None
    pid: int | None
    started_at: datetime
    ended_at: datetime | None
    seconds: float
    """Up to now while it runs."""
    inputs: dict[str, Any] | None
    output: dict[str, Any] | None = field(repr=False)
    output_hash: str | None
    hash: str | None
    vectors: int
    error: AttemptError | None
    calls: list[CallTrace]

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


@dataclass(frozen=True, kw_only=True)
class StageTrace:
    """Where a stage of the job stands, and the attempt whose output counts."""

    stage: str
    status: StageStatus
    attempts: int
    seconds: float | None
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
    """Oldest first; those of stages that the chain has no more are among them."""
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
        grid = await stage_runs.grid(connection, job["run_id"], job_ids=[job_id])
        tried = _attempts(await attempts.history(connection, job_id), await ledger.uses_of_job(connection, job_id))
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
        stages=[_stage(row, of_stage.get((row["stage"], row["attempts"]))) for row in grid],
        attempts=tried,
        question=question,
        answers=answers,
        titles=titles,
        reference_texts=texts,
    )


def _stage(row: Mapping[str, Any], last: AttemptTrace | None) -> StageTrace:
    status = StageStatus(row["status"])
    return StageTrace(
        stage=row["stage"],
        status=status,
        attempts=row["attempts"],
        seconds=row["seconds"],
        current=last if status is StageStatus.DONE else None,
    )


def _attempts(rows: list[dict[str, Any]], uses: list[dict[str, Any]]) -> list[AttemptTrace]:
    calls: dict[int, list[CallTrace]] = {}
    for use in uses:
        calls.setdefault(use["attempt_id"], []).append(_call(use))
    return [
        AttemptTrace(
            **{name: row[name] for name in _KEPT},
            outcome=AttemptOutcome(row["outcome"]),
            error=attempts.error_of(row),
            calls=calls.get(row["id"], []),
        )
        for row in rows
    ]


_KEPT = (
    *("id", "stage", "number", "worker_id", "host", "pid", "started_at", "ended_at", "seconds"),
    *("inputs", "output", "output_hash", "hash", "vectors"),
)


def _call(use: Mapping[str, Any]) -> CallTrace:
    return CallTrace(
        call_id=use["call_id"],
        purpose=use["purpose"],
        model=use["model"],
        digest=use["digest"],
        is_reused=use["is_reused"],
        is_rejected=use["rejected_at"] is not None,
        messages=use["request"]["messages"],
        reply=use["reply"],
        stop_reason=use["stop_reason"],
        prompt_tokens=use["prompt_tokens"],
        reply_tokens=use["reply_tokens"],
        seconds=use["seconds"],
    )


def _numbers(value: Any, name: str) -> Iterator[int]:
    """Every whole number that stands under a name anywhere in an output."""
    if isinstance(value, Mapping):
        found = value.get(name)
        if isinstance(found, int):
            yield found
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _numbers(part, name)
