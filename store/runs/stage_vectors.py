"""The vectors that attempts stored."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final, NamedTuple

from schemas.statuses import StageStatus, WaitReason
from schemas.values.base import Value
from stages.ports import Vectors
from store.database import Connection
from store.vectors import to_matrix, to_numpy

VECTORS = "SELECT vector FROM stage_vector WHERE attempt_id = $1 ORDER BY ordinal"


async def of_attempt(connection: Connection, attempt_id: int) -> Vectors:
    """The vectors of an attempt, one row each in stored order; a matrix of zero rows when it stored none."""
    return to_matrix(row["vector"] for row in await connection.fetch(VECTORS, attempt_id))


# The oldest, so that every later use of a text has the same bits.
FIND = """
SELECT DISTINCT ON (text_key) text_key, vector, is_cut FROM stage_vector
WHERE text_key = ANY($1::bytea[]) AND ($2 OR NOT is_cut)
ORDER BY text_key, attempt_id, ordinal
"""


class KeyedText(NamedTuple):
    """The text of a vector, as far as it is stored with the vector."""

    key: bytes
    """A hash over the text, the model and its settings."""
    is_cut: bool
    """The model read only a part of the text."""


class KnownVector(NamedTuple):
    """A vector that was stored before."""

    vector: Vectors
    is_cut: bool


async def find(connection: Connection, keys: Collection[bytes], *, with_cut: bool) -> dict[bytes, KnownVector]:
    """The stored vectors of texts, by key; texts without any are absent, without `with_cut` those that were cut too."""
    rows = await connection.fetch(FIND, list(keys), with_cut)
    return {row["text_key"]: KnownVector(to_numpy(row["vector"]), row["is_cut"]) for row in rows}


# The triggers notify nothing meanwhile; the notification of the run stands for all of its jobs.
BEGIN = "SELECT set_config('ragq.bulk', 'on', true)"

END = """
SELECT set_config('ragq.bulk', 'off', true),
       (SELECT pg_notify('ragq_changes', json_build_object('run', $1::bigint, 'job', NULL)::text)
        WHERE EXISTS (SELECT FROM change_listener WHERE listened_at > now() - interval '30 seconds'))
"""

BATCH: Final = 10_000
"""Jobs in one statement, and in memory at a time."""


@asynccontextmanager
async def bulk(connection: Connection, run_id: int) -> AsyncIterator[None]:
    """Change many jobs of a run in the transaction that is open, with one notification for all of them."""
    await connection.execute(BEGIN)
    yield
    await connection.execute(END, run_id)


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
    WaitReason.BATCH: "{}, which answers with a batch; the answer makes it due before",
    WaitReason.SETTINGS: "{} gave it back, as its version does not know the settings of the run; another may",
}

_RETRY = "a transport error, for its automatic retry"


class StageRun(Value):
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
        values = dict(row)
        server, reason = values.pop("server"), values.pop("reason")
        if values["waits_until"] is not None:
            values["waits_for"] = _RETRY if server is None else _WORDS[reason].format(server)
        found[values.pop("job_id")].append(StageRun(**values))
    return found
