"""The stages of jobs, with their present status."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from schemas.statuses import StageStatus, WaitReason
from store.database import Connection

OF_JOBS = """
SELECT s.job_id, s.stage, s.status, s.attempts,
       extract(epoch FROM coalesce(s.finished_at, now()) - s.started_at)::float8 AS seconds,
       CASE WHEN s.status = 'ready' AND s.not_before > now() THEN s.not_before END AS waits_until,
       CASE WHEN s.status = 'ready' AND s.not_before > now() THEN w.server END AS server, w.reason
FROM stage_run AS s
LEFT JOIN llm_wait AS w ON w.job_id = s.job_id AND w.stage = s.stage AND w.until = s.not_before
WHERE s.job_id = ANY($1::bigint[]) ORDER BY s.job_id, s.position
"""


_WORDS = {
    WaitReason.CALLS: "other calls to {}, of which RAGQ_LLM_CONCURRENCY permits no more at a time",
    WaitReason.REQUESTS: "other calls to {}, of which RAGQ_LLM_RPM permits no more a minute",
    WaitReason.TOKENS: "other calls to {}, whose tokens are all that RAGQ_LLM_TPM permits a minute",
    WaitReason.REFUSED: "a refusal of {}, which takes no call until then (429 or 503)",
    WaitReason.SETTINGS: "{} gave it back, as its version does not know the settings of the run; another may",
}

_RETRY = "a transport error, for its automatic retry"


@dataclass(frozen=True, kw_only=True)
class StageRun:
    """One stage of a job."""

    stage: str
    status: StageStatus
    attempts: int
    seconds: float | None
    """Of the last attempt, up to now while it runs; None before the first."""
    waits_until: datetime | None = None
    """A stage that is due does not start before; None when it may."""
    waits_for: str | None = None
    """After what it waits until then."""


async def of_jobs(connection: Connection, job_ids: Sequence[int]) -> dict[int, list[StageRun]]:
    """The stages of each of these jobs, by its id, in the order of the chain."""
    found: dict[int, list[StageRun]] = {job_id: [] for job_id in job_ids}
    for row in await connection.fetch(OF_JOBS, list(job_ids)):
        values = {**row, "status": StageStatus(row["status"])}
        server, reason = values.pop("server"), values.pop("reason")
        if values["waits_until"] is not None:
            values["waits_for"] = _RETRY if server is None else _WORDS[reason].format(server)
        found[values.pop("job_id")].append(StageRun(**values))
    return found
