"""What past runs of a kind asked and took, for estimates. Nothing of it changes a row."""

import json
from collections.abc import Sequence, Set
from datetime import datetime
from itertools import groupby
from typing import Any, Final, NamedTuple

from store.database import Connection

RUNS = """
SELECT r.id, r.settings,
       coalesce(
           (SELECT jsonb_object_agg(m.model, m.identity) FROM run_model AS m WHERE m.run_id = r.id), '{}'
       ) AS models
FROM run AS r
WHERE r.kind = $1 AND coalesce((r.request ->> 'draw')::bigint, 0) = $2
  AND EXISTS (SELECT FROM job AS j WHERE j.run_id = r.id AND j.mode = ANY($3::text[]))
ORDER BY r.id DESC LIMIT $4
"""

_EQUAL = "j.subject = p.subject AND j.inputs = p.inputs"
# The subject of a document is its number in an import, and neither its corpus nor its bibliography is in a prompt.
_EQUAL_DOCUMENTS = "j.inputs @> p.inputs"

# The calls behind the outputs that count, also of stages that a fork copied. None of a stage after one whose output
# somebody set: an equal job asks about another output.
HELD = """
SELECT p.place - 1 AS place, j.run_id, c.stage, count(*) AS calls
FROM unnest($2::text[], $3::text[], $4::jsonb[]) WITH ORDINALITY AS p (mode, subject, inputs, place)
JOIN job AS j ON j.run_id = ANY($1::bigint[]) AND j.mode = p.mode AND {equal}
JOIN current_attempt AS c ON c.job_id = j.id AND c.status = 'done'
JOIN llm_call_use AS u ON u.attempt_id = c.attempt_id
JOIN llm_call AS l ON l.id = u.call_id AND l.rejected_at IS NULL
WHERE NOT EXISTS (
    SELECT FROM stage_run AS own
    JOIN stage_run AS s ON s.job_id = own.job_id AND s.position < own.position
    JOIN stage_attempt AS a ON a.job_id = s.job_id AND a.stage = s.stage AND a.number = s.attempts
    WHERE own.job_id = j.id AND own.stage = c.stage AND a.worker_id = 'manual'
)
GROUP BY p.place, j.run_id, c.stage
"""

#: Jobs of a past run that are read: every n-th of a larger one, so that a run of a million says as much as soon. As
#: modes take turns, n is odd.
_READ_OF_A_RUN: Final = 100

_SAMPLE = f"""
WITH sample AS (
    SELECT j.id, j.run_id, j.mode, j.status, s.step
    FROM unnest($1::bigint[]) AS r (run_id)
    CROSS JOIN LATERAL (
        SELECT max(ordinal) AS last, ((max(ordinal) + 1) / {_READ_OF_A_RUN}) | 1 AS step
        FROM job WHERE run_id = r.run_id
    ) AS s
    CROSS JOIN LATERAL generate_series(0, s.last, s.step) AS place
    JOIN job AS j ON j.run_id = r.run_id AND j.ordinal = place
)
"""

STAGES = f"""
{_SAMPLE}
SELECT a.stage, count(DISTINCT a.job_id) AS jobs,
       sum(greatest(t.seconds - u.seconds, 0))::float8 AS seconds,
       sum(least(t.seconds, u.seconds))::float8 AS call_seconds,
       sum(u.paid)::bigint AS paid, sum(u.prompt_tokens)::bigint AS prompt_tokens,
       sum(u.reply_tokens)::bigint AS reply_tokens, sum(u.counted)::bigint AS counted,
       count(DISTINCT a.job_id) FILTER (WHERE u.paid > 0) AS paid_jobs
FROM sample AS j
JOIN stage_attempt AS a ON a.job_id = j.id AND a.ended_at IS NOT NULL AND a.worker_id NOT IN ('copied', 'manual')
CROSS JOIN LATERAL (SELECT extract(epoch FROM a.ended_at - a.started_at) AS seconds) AS t
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE NOT u.is_reused) AS paid,
           coalesce(sum(l.seconds) FILTER (WHERE NOT u.is_reused), 0) AS seconds,
           sum(l.prompt_tokens) FILTER (WHERE NOT u.is_reused) AS prompt_tokens,
           sum(l.reply_tokens) FILTER (WHERE NOT u.is_reused) AS reply_tokens,
           count(l.reply_tokens) FILTER (WHERE NOT u.is_reused) AS counted
    FROM llm_call_use AS u JOIN llm_call AS l ON l.id = u.call_id WHERE u.attempt_id = a.id
) AS u
WHERE j.mode = ANY($2::text[])
GROUP BY a.stage
"""

PACES = f"""
{_SAMPLE}
SELECT j.run_id, j.mode, a.stage, count(DISTINCT j.id) * max(j.step) AS jobs,
       (sum(p.paid) * max(j.step))::bigint AS paid,
       sum(extract(epoch FROM a.ended_at - a.started_at))::float8 AS seconds, min(a.started_at) AS began,
       max(a.ended_at) AS ended
FROM sample AS j JOIN stage_attempt AS a ON a.job_id = j.id AND a.worker_id NOT IN ('copied', 'manual')
CROSS JOIN LATERAL (
    SELECT count(*) AS paid FROM llm_call_use AS u WHERE u.attempt_id = a.id AND NOT u.is_reused
) AS p
WHERE j.status = 'succeeded' AND a.ended_at IS NOT NULL
GROUP BY j.run_id, j.mode, a.stage ORDER BY j.run_id DESC
"""


class PastRun(NamedTuple):
    """A run with what can make its work equal to other work."""

    id: int
    settings: dict[str, Any]
    models: dict[str, Any]
    """The identity of each language model, by name."""


class HeldCalls(NamedTuple):
    """The calls of a stage of a past job that is equal to a planned one."""

    place: int
    """Of the planned job, from 0."""
    run_id: int
    stage: str
    calls: int


class PastStage(NamedTuple):
    """Sums over the attempts of a stage in the jobs of past runs that are read."""

    stage: str
    jobs: int
    seconds: float
    """Without those in which calls were paid for."""
    call_seconds: float
    """Those; where several calls were made at once, no more than the attempt took."""
    paid: int
    prompt_tokens: int | None
    reply_tokens: int | None
    counted: int
    """Paid calls whose tokens the server counted."""
    paid_jobs: int
    """Jobs that paid for a call."""


class Pace(NamedTuple):
    """How long stages of a past run took, those of all its jobs."""

    run_id: int
    jobs: int
    paid: int
    """Calls of a language model."""
    seconds: float
    is_whole: bool
    """Whether the run computed no other stage; else the seconds are the share of these in the time of all."""


class WorkedStage(NamedTuple):
    """A stage of a past run in the jobs of one mode."""

    run_id: int
    mode: str
    stage: str
    jobs: int
    paid: int
    seconds: float
    """Of all attempts, one after the other."""
    began: datetime
    ended: datetime


def pace_of(worked: Sequence[WorkedStage], wanted: Set[tuple[str, str]]) -> Pace | None:
    """The pace of one run in the wanted stages, each with its mode; None if it computed not all of them, or in no time.

    From the first stage that began to the last that ended: waiting for people and for a stopped stack counts too.
    """
    parts = [one for one in worked if (one.mode, one.stage) in wanted]
    took = (max(one.ended for one in worked) - min(one.began for one in worked)).total_seconds()
    total = sum(one.seconds for one in worked)
    if len(parts) < len(wanted) or took <= 0 or total <= 0:
        return None
    jobs: dict[str, int] = {}
    for one in parts:
        jobs[one.mode] = max(jobs.get(one.mode, 0), one.jobs)
    return Pace(
        run_id=worked[0].run_id,
        jobs=sum(jobs.values()),
        paid=sum(one.paid for one in parts),
        seconds=took * sum(one.seconds for one in parts) / total,
        is_whole=len(parts) == len(worked),
    )


async def past_runs(connection: Connection, kind: str, modes: Sequence[str], *, draw: int, limit: int) -> list[PastRun]:
    """The newest runs of a kind in a draw with jobs in one of these modes, newest first."""
    return [PastRun(**dict(row)) for row in await connection.fetch(RUNS, kind, draw, list(modes), limit)]


async def held_calls(
    connection: Connection, kind: str, run_ids: Sequence[int], jobs: Sequence[tuple[str, str, Any]]
) -> list[HeldCalls]:
    """The calls behind the outputs of equal jobs: those of the same mode, subject and inputs.

    A document is equal to one with its inputs, whatever else that one has.
    """
    rows = await connection.fetch(
        HELD.format(equal=_EQUAL_DOCUMENTS if kind == "work" else _EQUAL),
        list(run_ids),
        [mode for mode, _, _ in jobs],
        [subject for _, subject, _ in jobs],
        [json.dumps(inputs) for _, _, inputs in jobs],
    )
    return [HeldCalls(**dict(row)) for row in rows]


async def past_stages(connection: Connection, run_ids: Sequence[int], modes: Sequence[str]) -> dict[str, PastStage]:
    """The stages of these runs, by name."""
    rows = await connection.fetch(STAGES, list(run_ids), list(modes))
    return {row["stage"]: PastStage(**dict(row)) for row in rows}


async def paces(connection: Connection, run_ids: Sequence[int], wanted: Set[tuple[str, str]]) -> list[Pace]:
    """How long each of these runs took in the wanted stages, of those with jobs that succeeded in all; newest first.

    Jobs and calls of a run of two hundred jobs and more are multiples of those that are read.
    """
    rows = (WorkedStage(**dict(row)) for row in await connection.fetch(PACES, list(run_ids)))
    by_run = (list(worked) for _, worked in groupby(rows, key=lambda one: one.run_id))
    found = (pace_of(worked, wanted) for worked in by_run)
    return [pace for pace in found if pace is not None]
