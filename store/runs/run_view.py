"""A run as it is shown: its jobs, the state of each stage, what was kept, what it cost, what failed."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import Field, computed_field

from schemas.statuses import JobStatus
from schemas.values.base import Listed, Value
from schemas.values.runs import RunEnvironment, RunLimitState, RunOrigin, StageFailure
from schemas.values.scoring import Draw, JobScores
from stages.reports.score_table import mode_summaries
from stages.reports.words import counted
from store.database import Connection
from store.runs import backlog, batches, call_costs, jobs, notifications, overviews, runs
from store.runs.batches import Batch
from store.runs.failures import last_failures
from store.runs.forks import Family, family
from store.runs.jobs import StageRun
from store.runs.notifications import Notification
from store.runs.overviews import RunOverview

SCORES = """
SELECT j.run_id, j.id AS job_id, j.mode, j.inputs ->> 'data_set' AS data_set, j.subject::integer AS participant_id,
       j.status, p.items AS labels,
       CASE WHEN a.job_id IS NOT NULL THEN coalesce(
           (SELECT jsonb_object_agg(item.key, item.value -> 'score') FILTER (WHERE item.value ? 'score')
            FROM jsonb_each(CASE jsonb_typeof(a.output -> 'items') WHEN 'object' THEN a.output -> 'items' END) AS item),
           '{}'
       ) END AS scores
FROM job AS j
JOIN stage_run AS s ON s.job_id = j.id AND s.stage = 'score'
LEFT JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'score' AND a.status = 'done'
LEFT JOIN participant AS p
    ON p.data_set = j.inputs ->> 'data_set' AND p.id = CASE j.kind WHEN 'participant' THEN j.subject::integer END
WHERE j.run_id = ANY($1::bigint[]) AND j.kind = 'participant'
ORDER BY j.run_id, j.ordinal
"""

# Of several runs of a draw, which share their answers, one counts: this one, or the newest.
SIBLINGS = """
SELECT DISTINCT ON (r.draw) r.id AS run_id, r.draw
FROM (
    SELECT id, coalesce((request ->> 'draw')::bigint, 0) AS draw FROM run
    WHERE kind = 'participant' AND identity = (SELECT identity FROM run WHERE id = $1)
) AS r
ORDER BY r.draw, (r.id = $1) DESC, r.id DESC
"""


async def job_scores(connection: Connection, run_ids: Sequence[int]) -> dict[int, list[JobScores]]:
    """The scores of the jobs of participant runs, by run; runs without a stage `score` are absent."""
    found: dict[int, list[JobScores]] = defaultdict(list)
    for row in await connection.fetch(SCORES, list(run_ids)):
        found[row["run_id"]].append(JobScores.model_validate(dict(row)))
    return found


async def siblings(connection: Connection, run_id: int) -> tuple[Draw, ...]:
    """The modes of runs of the same work in all draws, this one too, whose language models have the same weights."""
    draws = {row["run_id"]: row["draw"] for row in await connection.fetch(SIBLINGS, run_id)}
    if len(draws) < 2:
        return ()
    weights = {each: {one.model: one.identity.weights for one in await runs.frozen(connection, each)} for each in draws}
    alike = [each for each in draws if _agree(weights[each], weights[run_id])]
    scores = await job_scores(connection, alike)
    return tuple(
        Draw(
            run_id=f"r{each}",
            draw=draws[each],
            mode=one.mode,
            evaluated=one.compared,
            item_mae_weighted=one.mae,
            prediction_coverage=one.coverage,
        )
        for each in alike
        for one in mode_summaries(scores[each])
    )


def _agree(one: dict[str, dict[str, str]], other: dict[str, dict[str, str]]) -> bool:
    return all(one[model] == other[model] for model in one.keys() & other.keys())


SUBMITTER = "SELECT e.content FROM run AS r JOIN environment AS e ON e.id = r.environment_id WHERE r.id = $1"

WORKERS = """
SELECT e.content AS environment, count(*) AS stages
FROM job AS j
JOIN current_attempt AS c ON c.job_id = j.id AND c.status = 'done'
JOIN stage_attempt AS a ON a.id = c.attempt_id
JOIN worker AS w ON w.id = a.worker_id
JOIN environment AS e ON e.id = w.environment_id
WHERE j.run_id = $1 GROUP BY e.id ORDER BY count(*) DESC, e.hash
"""

SERVERS = """
SELECT DISTINCT c.served_by ->> 'server' AS server
FROM job AS j
JOIN stage_attempt AS a ON a.job_id = j.id
JOIN llm_call_use AS u ON u.attempt_id = a.id
JOIN llm_call AS c ON c.id = u.call_id
WHERE j.run_id = $1 AND c.served_by IS NOT NULL ORDER BY server
"""


async def run_origin(connection: Connection, run_id: int) -> RunOrigin:
    """The origin of a run. Runs that are older than its record have none."""
    return RunOrigin(
        submitter=await connection.fetchval(SUBMITTER, run_id),
        workers=tuple(RunEnvironment(**row) for row in await connection.fetch(WORKERS, run_id)),
        models=tuple(await runs.frozen(connection, run_id)),
        servers=tuple(row["server"] for row in await connection.fetch(SERVERS, run_id)),
    )


_REJECTED = '[*] ? (@.decision != "accept")'

JOBS = f"""
SELECT j.id AS job_id, j.run_id, j.kind, j.mode, j.subject, j.status, j.note, j.parent_id AS parent_job_id,
       j.created_at, j.finished_at, q.id AS query_id, count_of.kept, count_of.rejected
FROM job AS j LEFT JOIN queries AS q ON q.job_id = j.id
LEFT JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'validate' AND a.status = 'done'
LEFT JOIN LATERAL (
    SELECT jsonb_array_length(jsonb_path_query_array(a.output, CASE j.kind
               WHEN 'query' THEN '$.chunks[*]' WHEN 'tags' THEN '$.candidates[*]' ELSE '$.items.*[*]'
           END::jsonpath)) AS kept,
           jsonb_array_length(jsonb_path_query_array(a.output, CASE j.kind
               WHEN 'query' THEN '$.verdicts{_REJECTED}' ELSE '$.verdicts.*{_REJECTED}'
           END::jsonpath)) AS rejected
) AS count_of ON a.output IS NOT NULL
WHERE j.run_id = $1 AND ($2::bigint[] IS NULL OR j.id = ANY($2))
ORDER BY j.ordinal
"""

CUT_TEXTS = """
SELECT coalesce(sum((a.output ->> 'cut_texts')::integer), 0)::integer
FROM job AS j JOIN current_attempt AS a ON a.job_id = j.id AND a.stage IN ('embed', 'extract') AND a.status = 'done'
WHERE j.run_id = $1
"""


class JobView(Value):
    """A job with its stages."""

    job_id: int = Field(examples=[34])
    run_id: int = Field(examples=[12])
    kind: str = Field(examples=["query"])
    mode: str = Field(examples=["answer"])
    subject: str = Field(examples=["q1"])
    """The id of what it is about."""
    status: JobStatus
    note: str | None = Field(repr=False)
    """Why it was paused or cancelled: the operator's reason, or the limit of its run."""
    query_id: int | None
    """The question that it answers; null for jobs of other kinds."""
    parent_job_id: int | None
    """The job that it was forked from; null for a job of no fork, and when that one is deleted."""
    created_at: datetime
    finished_at: datetime | None
    stages: list[StageRun]
    kept: int | None = Field(examples=[9])
    """References of all items, chunks of a question, or tags of phrases that stay; null until they are validated."""
    rejected: int | None = Field(examples=[3])
    """Those that the validator did not accept."""
    llm_paid: int = 0
    llm_reused: int = 0
    error: StageFailure | None
    """The last error of a job that did not succeed."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def is_idle(self) -> bool:
        """Nothing runs by itself: the job has finished, or waits for an action."""
        return not self.status.is_open

    @computed_field  # type: ignore[prop-decorator]
    @property
    def seconds(self) -> float:
        """Spent in the last attempt of each stage."""
        return sum(stage.seconds or 0.0 for stage in self.stages)


def waits_in_words(jobs: Sequence[JobView]) -> list[str]:
    """Until when stages of these jobs wait, and why jobs are held: a sentence for each reason."""
    found: dict[str, list[datetime]] = {}
    for stage in (stage for job in jobs for stage in job.stages):
        if stage.waits_until is not None and stage.waits_for is not None:
            found.setdefault(stage.waits_for, []).append(stage.waits_until)
    noted = ((job.status, job.note) for job in jobs if job.status in (JobStatus.PAUSED, JobStatus.CANCELLED))
    held = Counter((status, note) for status, note in noted if note)
    return [f"{counted(count, 'job')} {status}: {note}" for (status, note), count in held.items()] + [
        f"{counted(len(until), 'stage')} due at {min(until):%Y-%m-%d %H:%M:%S} UTC or later, after {why}."
        for why, until in found.items()
    ]


class RunView(Value):
    """A run with its jobs, in the order of submission."""

    run: RunOverview
    jobs: list[JobView]
    settings: dict[str, Any]
    """Every setting that it was submitted with, and its source."""
    limits: RunLimitState | None
    """Its limits and what counts towards them; null for a run without any."""
    cut_texts: int
    """Texts of all jobs that are longer than the embedder reads, and were cut."""
    batches: tuple[Batch, ...]
    """The batches of calls of language models that its stages wait for."""
    # What follows is read only where it is shown: a run that is watched is read twice a second.
    origin: RunOrigin = RunOrigin()
    """Where it was submitted and computed: versions, commits, hardware, models and servers."""
    family: Family = Family()
    """What it was forked from, and its forks."""
    notification: Notification | None = None
    """Who is told when it has finished or is paused; null when nobody is."""


async def run_view(connection: Connection, run_id: int, *, job_ids: Sequence[int] | None = None) -> RunView:
    """A run, with all of its jobs or those that are named, read at one moment. Raises MissingError."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        overview = await overviews.get(connection, run_id)
        return RunView(
            run=overview,
            jobs=await _jobs(connection, run_id, job_ids),
            settings=await runs.settings(connection, run_id),
            # Phrases are never cut, and a million jobs of them not looked through.
            cut_texts=0 if overview.kind == "tags" else await connection.fetchval(CUT_TEXTS, run_id),
            limits=await backlog.find(connection, run_id),
            batches=await batches.of_run(connection, run_id),
        )


async def with_origin(connection: Connection, view: RunView) -> RunView:
    """The run with where it was submitted and computed, what it was forked from, its forks, and who is told of it."""
    run_id = view.run.id
    origin, of_family = await run_origin(connection, run_id), await family(connection, run_id)
    told = await notifications.find(connection, run_id)
    return view.model_copy(update={"origin": origin, "family": of_family, "notification": told})


async def job_view(connection: Connection, job_id: int) -> JobView:
    """One job. Raises MissingError."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        job = await jobs.get(connection, job_id)
        (view,) = await _jobs(connection, job.run_id, [job_id])
    return view


async def _jobs(connection: Connection, run_id: int, job_ids: Sequence[int] | None) -> list[JobView]:
    found = {row["job_id"]: row for row in await connection.fetch(JOBS, run_id, job_ids)}
    stages = await jobs.of_jobs(connection, list(found))
    failures = await last_failures(connection, run_id=run_id, job_ids=job_ids)
    calls = await call_costs.counts(connection, run_id, job_ids=job_ids)
    return [
        JobView(**{**row, **calls.get(job_id, {})}, stages=stages[job_id], error=failures.get(job_id))
        for job_id, row in found.items()
    ]


async def with_figures(connection: Connection, listed: Listed[RunOverview]) -> Listed[RunOverview]:
    """Runs with the figures of those of participants. One statement, however many runs."""
    scores = await job_scores(connection, [run.id for run in listed.items if run.kind == "participant"])
    figures = {run.id: {"experiments": mode_summaries(scores.get(run.id, ()))} for run in listed.items}
    runs = tuple(run.model_copy(update=figures[run.id]) for run in listed.items)
    return listed.model_copy(update={"items": runs})
