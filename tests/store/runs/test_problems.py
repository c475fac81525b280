"""What is wrong now."""

from datetime import timedelta

from schemas.statuses import JobStatus
from schemas.values.runs import AttemptError
from store.database import Connection
from store.runs import jobs, stages
from store.runs.problems import ProblemKind, problems
from tests.store.enrolled import enroll
from tests.store.scored import BROKEN, TIMED_OUT, store_scored_run

WAITING = {("zero_shot", 316): None, ("zero_shot", 319): None}


async def found(connection: Connection) -> list[tuple[str, str | None, int]]:
    return [(one.what, one.stage, one.jobs) for one in await problems(connection, is_broker_away=False)]


async def test_jobs_whose_queue_no_worker_takes_are_a_problem_until_one_does(connection: Connection) -> None:
    run_id = await store_scored_run(connection, WAITING)
    without = await problems(connection, is_broker_away=False)
    await enroll(connection, "extract")
    with_one = await found(connection)
    await connection.execute("UPDATE worker SET seen_at = now() - interval '1 minute'")
    silent = await found(connection)
    without_broker = await problems(connection, is_broker_away=True)

    (problem,) = without
    assert (problem.what, problem.run_id, problem.stage, problem.jobs) == ("no_worker", run_id, "extract", 2)
    assert problem.since is not None and problem.remedy == "ragq worker --stages extract"
    assert with_one == []
    assert silent == [("no_worker", "extract", 2)]
    assert [one.what for one in without_broker] == ["no_worker", "no_broker"]
    assert (without_broker[1].jobs, without_broker[1].remedy) == (2, "ragq doctor")


async def test_a_stage_is_lost_once_its_lease_is_over_for_ten_seconds(connection: Connection) -> None:
    run_id = await store_scored_run(connection, {("zero_shot", 316): None})
    await enroll(connection, "extract")
    (job_id,) = await jobs.in_order(connection, run_id, limit=2)
    await stages.claim(connection, job_id, "extract", "worker", 0)
    running = await found(connection)
    await connection.execute("UPDATE stage_run SET lease_until = now() - interval '11 seconds'")

    assert running == []
    assert await found(connection) == [("worker_lost", "extract", 1)]


async def test_failed_jobs_are_listed_by_stage_and_error_until_they_are_retried(connection: Connection) -> None:
    await enroll(connection, "extract", "score")
    run_id = await store_scored_run(connection, {("zero_shot", 316): TIMED_OUT, ("zero_shot", 319): TIMED_OUT})
    (problem,) = await problems(connection, is_broker_away=False)
    await jobs.retry(connection, run_id=run_id)
    after = await found(connection)

    assert (problem.what, problem.stage, problem.jobs) == (ProblemKind.FAILED, "score", 2)
    assert problem.reason is not None and problem.reason.startswith(f"{TIMED_OUT.category}: ")
    assert problem.remedy == f"ragq retry r{run_id} --stage score"
    assert after == []


async def test_what_a_retry_would_not_find_either_has_another_remedy(connection: Connection) -> None:
    nothing = AttemptError("schemas.errors.NothingRelevantError", "Nothing fits.", "nothing_relevant", {})
    run_id = await store_scored_run(connection, {("zero_shot", 316): nothing})

    (problem,) = await problems(connection, is_broker_away=False)

    assert (problem.what, problem.remedy) == (ProblemKind.NOTHING_FOUND, f"ragq failures r{run_id}")


async def test_every_failed_job_is_listed_by_its_own_error(connection: Connection) -> None:
    await enroll(connection, "extract", "score")
    await store_scored_run(connection, {("zero_shot", 316): TIMED_OUT, ("zero_shot", 319): BROKEN})

    reasons = [one.reason for one in await problems(connection, is_broker_away=False)]

    assert sorted(reason.partition(":")[0] for reason in reasons if reason) == [BROKEN.type, TIMED_OUT.category]


async def test_what_waits_for_a_time_says_until_when_and_paused_jobs_say_why(connection: Connection) -> None:
    await enroll(connection, "extract")
    waiting = await store_scored_run(connection, {("zero_shot", 316): None})
    paused = await store_scored_run(connection, {("few_shot", 316): None})
    await connection.execute("UPDATE job SET sent_at = now() + interval '1 hour' WHERE run_id = $1", waiting)
    await jobs.hold(connection, JobStatus.PAUSED, "the GPU is needed", run_id=paused)
    first, second = await problems(connection, is_broker_away=False)

    assert (first.what, first.run_id, first.reason) == ("paused", paused, "the GPU is needed")
    assert (second.what, second.run_id) == ("waits", waiting)
    assert second.until is not None and second.since is not None
    assert second.until - second.since > timedelta(minutes=59)
