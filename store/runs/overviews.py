"""Runs in one line each: what they are, how many of their jobs are in each state, and when those will be done."""

from datetime import datetime
from typing import Any

from pydantic import Field, computed_field

from schemas.errors import run_missing
from schemas.statuses import JobStatus, Priority
from schemas.values.base import Listed, Value
from schemas.values.requests import RunsWanted
from schemas.values.scoring import ModeSummary
from stages.reports.words import notices
from store import rows
from store.database import Connection
from store.runs.jobs import OPEN_JOBS

OVERVIEW = """
SELECT r.id, r.name, r.note, r.kind, r.profile, r.identity, r.request, r.created_at, r.version, r.settings_hash,
       r.priority, coalesce(j.jobs, 0) AS jobs, j.finished_at, coalesce(j.states, '{}') AS states,
       e.content ->> 'git_commit' AS git_commit, (e.content ->> 'git_dirty')::boolean AS git_dirty
FROM run AS r LEFT JOIN environment AS e ON e.id = r.environment_id
LEFT JOIN LATERAL (
    SELECT sum(c.jobs)::bigint AS jobs, max(c.finished_at) AS finished_at, jsonb_object_agg(c.status, c.jobs) AS states
    FROM (
        SELECT status, count(*) AS jobs, max(finished_at) AS finished_at FROM job WHERE run_id = r.id GROUP BY status
    ) AS c
) AS j ON true
WHERE ($1::bigint IS NULL OR r.id = $1) AND ($3::bigint IS NULL OR r.id < $3) AND ($4::text IS NULL OR r.kind = $4)
  AND NOT EXISTS (
      SELECT FROM unnest($5::text[]) AS w (word)
      WHERE w.word NOT IN (r.id::text, 'r' || r.id) AND strpos(
          lower(concat_ws(
              ' ', r.name, r.note, r.kind, r.profile, r.request ->> 'split', r.request ->> 'index',
              r.request ->> 'corpus', r.request ->> 'preset', r.request ->> 'vocabulary',
              (SELECT string_agg(status, ' ') FROM jsonb_object_keys(j.states) AS s (status))
          )), w.word
      ) = 0
  )
ORDER BY r.id DESC LIMIT $2
"""


class RunOverview(Value):
    """A run in one line. The counts of `states` add up to `jobs`."""

    id: int = Field(examples=[12])
    name: str | None = Field(default=None, examples=["baseline"])
    """What people call it; no other run has the name, compared without case."""
    note: str | None = Field(default=None, repr=False)
    """What people wrote about it."""
    kind: str = Field(examples=["query"])
    profile: str = Field(examples=["demo"])
    identity: str = Field(examples=["5f0c2a91"])
    """Equal submissions have the same identity."""
    request: dict[str, Any] = Field(examples=[{"corpus": "default", "preset": "Balanced"}])
    """What was asked for; never text of a subject."""
    version: str = Field(examples=["0.1.0"])
    """The version of ragq that stored it."""
    settings_hash: str = Field(examples=["9b1d77e0"])
    created_at: datetime
    finished_at: datetime | None
    """When the last finished job finished."""
    jobs: int = Field(examples=[3])
    states: dict[JobStatus, int] = Field(examples=[{"succeeded": 2, "failed": 1}])
    """Jobs by state; the sum is `jobs`."""
    priority: Priority = Priority.NORMAL
    git_commit: str | None = None
    """The commit of ragq that submitted it; null for an installed package."""
    git_dirty: bool | None = None
    experiments: tuple[ModeSummary, ...] | None = Field(default=None, examples=[None])
    """The figures of each mode of a scored run; null where they were not read."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def notices(self) -> list[str]:
        """Caveats about the results."""
        return [*notices(self.kind, self.profile, self.request)]

    @property
    def title(self) -> str:
        """Its number, and its name in quotation marks where it has one."""
        return f"r{self.id}" if self.name is None else f"r{self.id} '{self.name}'"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def open_jobs(self) -> int:
        """Jobs that run, or will by themselves."""
        return sum(count for status, count in self.states.items() if status.is_open)


async def overviews(
    connection: Connection,
    *,
    run_id: int | None = None,
    limit: int = 20,
    before: int | None = None,
    kind: str | None = None,
    search: str = "",
) -> list[RunOverview]:
    """The newest runs, newest first, of a kind and older than the run `before` where these are given; or one run. Every
    word of `search` is the number of the run, or occurs in its name, note, kind, profile, request or states."""
    words = search.lower().split()
    return [RunOverview(**row) for row in await connection.fetch(OVERVIEW, run_id, limit, before, kind, words)]


async def listed(connection: Connection, wanted: RunsWanted) -> Listed[RunOverview]:
    """A page of the runs."""
    return wanted.page(await overviews(connection, **dict(wanted) | {"limit": wanted.one_more}))


async def ids(connection: Connection) -> list[int]:
    """The numbers of all runs, ascending."""
    return await rows.values(connection, "run", "id", order="id")


async def get(connection: Connection, run_id: int) -> RunOverview:
    """One run. Raises MissingError."""
    found = await overviews(connection, run_id=run_id, limit=1)
    if not found:
        raise run_missing(run_id)
    return found[0]


PROGRESS = f"""
SELECT count(*) AS jobs, count(*) FILTER (WHERE status = 'succeeded') AS succeeded,
       count(*) FILTER (WHERE status IN {OPEN_JOBS}) AS open_jobs, count(*) FILTER (WHERE is_late) AS lately,
       extract(epoch FROM now() - min(finished_at) FILTER (WHERE is_late))::float8 AS seconds
FROM (
    SELECT status, finished_at, status = 'succeeded' AND finished_at > now() - $2 * interval '1 second' AS is_late
    FROM job WHERE run_id = $1
) AS found
"""

STAGES = """
SELECT count(*) FILTER (WHERE status = 'done') AS done, count(*) AS stages FROM stage_run
WHERE job_id IN (SELECT id FROM job WHERE run_id = $1 ORDER BY ordinal LIMIT $2)
"""

#: Estimates come from what finished in this time.
_LATELY_S = 600.0
#: Of a larger run the index of jobs by state is read, and no stage but those of its first jobs.
_LARGE_JOBS = 10_000
_FIRST_JOBS = 100


async def progress(connection: Connection, run_id: int) -> tuple[int, int, float | None]:
    """Stored stages, all stages, and the seconds that the open jobs still need by the pace of those that succeeded in
    the last ten minutes; None when idle, and before two have. Of a run of more than 10,000 jobs, the stages of jobs
    that have succeeded count."""
    found = await connection.fetchrow(PROGRESS, run_id, _LATELY_S)
    jobs, is_large = found["jobs"], found["jobs"] > _LARGE_JOBS
    done, stages = await connection.fetchrow(STAGES, run_id, _FIRST_JOBS if is_large else jobs)
    if is_large:
        done, stages = (round(count * stages / _FIRST_JOBS) for count in (found["succeeded"], jobs))
    has_pace = found["open_jobs"] > 0 and found["lately"] > 1
    return done, stages, found["open_jobs"] * found["seconds"] / found["lately"] if has_pace else None
