"""What is read of several subjects at one moment: a job with its history, the state of a run, a submission."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from schemas.errors import Refused
from schemas.statuses import JobStatus, StageStatus
from schemas.values.base import Value
from schemas.values.queries import QueryRun
from schemas.values.runs import ScoredRun
from schemas.values.scoring import ScoreTable
from stages.reports import score_table
from store import rows
from store.corpora import works
from store.database import Connection
from store.questions import queries, query_runs
from store.questions.queries import StoredQuery, StoredResult
from store.references import references
from store.runs import attempts, jobs, overviews, run_view, runs, scored_runs
from store.runs.attempts import Attempt
from store.runs.jobs import Job, StageRun
from store.runs.overviews import RunOverview


class JobTrace(Job):
    """A job with its whole history, all of it read at one moment."""

    stages: list[StageRun]
    """In the order of the chain."""
    attempts: list[Attempt]
    """Oldest first, including those of stages that are no longer in the chain."""
    current: dict[str, Attempt]
    """By stage, the attempt whose output counts; stages that have not stored any are absent."""
    question: StoredQuery | None
    """What a job of kind `query` is about."""
    answers: list[StoredResult] = Field(repr=False)
    titles: dict[int, str] = Field(repr=False)
    """Titles of the works that outputs name, by number."""
    reference_texts: dict[int, str] = Field(repr=False)
    """Texts of the reference chunks that outputs name, by number; chunks of an index that is gone are absent."""


# Whatever has these names, anywhere in an output.
NAMED = """
SELECT ARRAY(SELECT DISTINCT n::bigint FROM stage_attempt AS a,
             jsonb_path_query(a.output, '$.**.work_id ? (@.type() == "number")') AS n WHERE a.job_id = $1) AS works,
       ARRAY(SELECT DISTINCT n::bigint FROM stage_attempt AS a,
             jsonb_path_query(a.output, '$.**.chunk_id ? (@.type() == "number")') AS n WHERE a.job_id = $1) AS chunks
"""


async def job_trace(connection: Connection, job_id: int) -> JobTrace:
    """A job. Raises MissingError."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        job = await jobs.get(connection, job_id)
        (stages,) = (await jobs.of_jobs(connection, [job_id])).values()
        tried = await attempts.history(connection, job_id)
        question = await queries.of_job(connection, job_id) if job.kind == "query" else None
        named = await connection.fetchrow(NAMED, job_id)
        references_of = named["chunks"] if job.kind == "participant" else []
        number_of_output = {stage.stage: stage.attempts for stage in stages if stage.status is StageStatus.DONE}
        return JobTrace(
            **vars(job),
            stages=stages,
            attempts=tried,
            current={one.stage: one for one in tried if number_of_output.get(one.stage) == one.number},
            question=question,
            answers=[] if question is None else await queries.results(connection, question.id),
            titles=await works.titles(connection, named["works"]),
            reference_texts=await references.chunk_texts(connection, references_of),
        )


class RunState(Value):
    """A run at one moment. The counts of `states` add up to its jobs."""

    run_id: int
    states: dict[JobStatus, int]
    stages_done: int = Field(examples=[21])
    stages: int = Field(examples=[24])
    seconds_left: float | None
    """What its open jobs still need at the pace of the last ten minutes; None before two succeeded, and when idle."""
    is_idle: bool
    """No work is running, and none will start by itself."""


async def run_state(connection: Connection, run_id: int) -> RunState:
    """The state of a run. Raises MissingError."""
    # All of it from one snapshot: a moment later, a run that only has to be published may have a running job again.
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        overview = await overviews.get(connection, run_id)
        done, stages, seconds_left = await overviews.progress(connection, run_id)
        return RunState(
            run_id=run_id,
            states=overview.states,
            stages_done=done,
            stages=stages,
            seconds_left=seconds_left,
            is_idle=not (
                overview.open_jobs
                or await references.is_publication_due(connection, run_id)
                or await jobs.is_waiting(connection, run_id)
            ),
        )


async def reported_run(connection: Connection, run_id: int) -> ScoredRun | QueryRun:
    """The run. Raises MissingError when there is none of that number, and Refused when nothing can be reported."""
    is_query = (await overviews.get(connection, run_id)).kind == "query"
    return await (query_runs.query_run if is_query else scored_runs.scored_run)(connection, run_id)


JOBS = """
SELECT j.mode, j.subject, j.inputs, q.original_query AS question, q.reference_answer, q.judgements
FROM job AS j LEFT JOIN queries AS q ON q.job_id = j.id
WHERE j.run_id = $1 ORDER BY j.ordinal
"""


async def submission(
    connection: Connection, run_id: int
) -> tuple[RunOverview, dict[str, Any], Sequence[Mapping[str, Any]]]:
    """A run with its settings and its jobs as they were submitted, in their order; questions, their answers for
    reference and their judgements are as they are now. Raises MissingError."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        overview = await overviews.get(connection, run_id)
        settings = await runs.settings(connection, run_id)
        return overview, settings, await connection.fetch(JOBS, run_id)


async def scores_of_run(connection: Connection, run_id: int) -> ScoreTable:
    """As `run_scores`. Raises MissingError too, and Refused for a run that scores no participants."""
    found = await run_scores(connection, run_id)
    if found is None:
        await runs.require(connection, run_id)
        raise Refused(f"Run r{run_id} scores no participants; `ragq show r{run_id}` shows what it does.")
    return found


async def run_scores(connection: Connection, run_id: int) -> ScoreTable | None:
    """The table of a run, finished or not; None where no job of it scores a participant."""
    found = await run_view.job_scores(connection, [run_id])
    if run_id not in found:
        return None
    baseline = await rows.value(connection, "run", "request -> 'baseline'", id=run_id)
    return score_table.score_table(run_id, found[run_id], baseline)
