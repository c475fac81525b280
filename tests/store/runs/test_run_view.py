"""Runs for display: failed jobs first, what went wrong and is wrong now, and where stages were computed."""

from datetime import timedelta
from typing import Any

from schemas.statuses import JobStatus
from schemas.values.runs import AttemptError, Environment
from stages.reports.words import origin_words
from store.database import Connection
from store.runs import jobs, ledger, runs, stages
from store.runs.failures import run_failures
from store.runs.jobs import PendingChain, PendingStage
from store.runs.problems import ProblemKind, problems
from store.runs.run_view import run_origin, run_view
from tests.fakes.chat import served
from tests.stages.reports.builders import scores
from tests.store.conftest import StoreRun, new_run
from tests.store.scored import (
    BROKEN,
    TIMED_OUT,
    call_model,
    claimed,
    committing,
    end,
    enroll,
    failing,
    store_scored_run,
    take,
)


async def test_failed_jobs_come_first_and_some_are_shown_of_all(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run("1", "2", "3", "4", stages=("extract",))
    one, two, three, four = stored.job_ids
    await take(connection, one, "extract", committing({"quotes": {}}))
    await take(connection, three, "extract", failing(TIMED_OUT))
    await claimed(connection, four)

    view = await run_view(connection, stored.run_id, job_ids=[two, three])

    assert await jobs.most_urgent(connection, stored.run_id, limit=10) == [three, four, two, one]
    assert await jobs.most_urgent(connection, stored.run_id, limit=2, offset=1) == [four, two]
    assert await jobs.most_urgent(connection, stored.run_id, status=JobStatus.WAITING, limit=10) == [two]
    assert view.run.states == dict.fromkeys(("waiting", "running", "failed", "succeeded"), 1)
    errors = [(job.subject, job.error and job.error.category) for job in view.jobs]
    assert errors == [("2", None), ("3", "scoring_llm_timeout")]


async def test_every_job_lists_its_stages_in_order_and_those_left(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run("316", "302")
    first, second = stored.job_ids
    await take(connection, first, "extract", committing({}))

    found = await jobs.progress(connection, stored.job_ids)
    left = await jobs.pending_chains(connection, [second, first, second])

    states = [(view.stage, str(view.status)) for view in found[first].stages]
    assert states == [("extract", "done"), ("embed", "ready"), ("assemble", "waiting")]
    assert (found[first].done, found[first].current) == (1, "embed")
    assert (found[second].done, found[second].current) == (0, "extract")
    stages = [PendingStage(stage, 1, stage) for stage in ("extract", "embed", "assemble")]
    assert left == [
        PendingChain(job_id=second, run_id=stored.run_id, kind="participant", subject="302", stages=stages),
        PendingChain(job_id=first, run_id=stored.run_id, kind="participant", subject="316", stages=stages[1:]),
    ]


HERE = Environment(
    ragq_version="0.1.0",
    git_commit="c0ffee" * 6,
    git_dirty=True,
    python="3.11.9",
    platform="Linux",
    packages={"numpy": "2.4.0"},
    cpu="fast",
    cores=2,
    gpus=("A100",),
)
THERE = HERE.model_copy(update={"packages": {"numpy": "2.3.0"}, "git_commit": None, "git_dirty": None, "gpus": ()})


async def test_stages_are_counted_by_environments_and_cut_texts(connection: Connection, store_run: StoreRun) -> None:
    stored = await store_run("316", "319", stages=("extract", "embed"))
    for worker, environment in (("one", HERE), ("two", HERE), ("three", THERE)):
        await enroll(connection, "extract", name=worker, environment=environment)
    first, second = stored.job_ids
    for job_id, stage, worker in [
        *((first, "extract", "one"), (first, "embed", "two")),
        *((second, "extract", "three"), (second, "embed", "unknown")),
    ]:
        claim = await stages.claim(connection, job_id, stage, worker, 60)
        assert claim is not None
        await stages.commit(connection, claim, inputs={}, output={"cut_texts": 2 if worker == "two" else 1})
    found = await run_origin(connection, stored.run_id)
    rows = await connection.fetchval("SELECT count(*) FROM environment")

    assert [(one.stages, one.environment) for one in found.workers] == [(2, HERE), (1, THERE)]
    assert (rows, found.submitter) == (2, None)
    assert (await run_view(connection, stored.run_id)).cut_texts == 5


async def test_the_submitter_the_models_and_the_servers_are_kept(connection: Connection) -> None:
    model = served(server="http://gpu-box:11434", quantization="Q4_1")
    stored = await runs.store(connection, new_run(environment=HERE, models=[model]))
    claim = await claimed(connection, stored.job_ids[0], "extract")
    await call_model(connection, claim.attempt_id, server="http://spare:11434")
    found = await run_origin(connection, stored.run_id)

    assert (found.submitter, found.servers) == (HERE, ("http://spare:11434",))
    assert [(one.model, one.identity, one.is_from_submission) for one in found.models] == [("m", model, True)]
    assert list(origin_words(found)) == [
        "Submitted with ragq 0.1.0 (commit c0ffeec0ffee, modified), Python 3.11.9, Linux, fast, 2 cores, A100.",
        "Model m, Q4_1: digest d at http://gpu-box:11434.",
        "Answers came from http://spare:11434 too.",
    ]


SUBJECT, OTHER = ("zero_shot", 316), ("zero_shot", 319)


async def failures(connection: Connection, run_id: int) -> list[tuple[Any, ...]]:
    found = await run_failures(connection, run_id)
    return [(one.stage, one.attempt, one.category, one.is_resolved, one.is_final) for one in found]


async def now(connection: Connection, *, is_broker_away: bool = False) -> list[tuple[str, str | None, int]]:
    found = await problems(connection, is_broker_away=is_broker_away)
    return [(one.what, one.stage, one.jobs) for one in found]


async def waiting_job(connection: Connection) -> tuple[int, int]:
    """A run of one job that has not begun. Its number and its job's."""
    run_id = await store_scored_run(connection, {SUBJECT: None})
    return run_id, (await jobs.of_run(connection, run_id))[0]


async def test_a_failure_is_a_problem_until_a_retry_and_resolved_when_that_succeeds(connection: Connection) -> None:
    await enroll(connection, "extract", "score")
    run_id = await store_scored_run(connection, {SUBJECT: TIMED_OUT, OTHER: TIMED_OUT})
    failed = "score", 1, "scoring_llm_timeout"

    (problem,) = await problems(connection, is_broker_away=False)
    assert (problem.what, problem.stage, problem.jobs) == ("failed", "score", 2)
    assert problem.reason is not None and problem.reason.startswith(f"{TIMED_OUT.category}: ")
    assert problem.remedy == f"ragq retry r{run_id} --stage score"
    assert await failures(connection, run_id) == [(*failed, False, True)] * 2

    first, _ = await jobs.retry(connection, run_id=run_id)
    assert await now(connection) == []
    assert await failures(connection, run_id) == [(*failed, False, False)] * 2
    await end(connection, first, scores("1"), first="score")
    assert await failures(connection, run_id) == [(*failed, True, False), (*failed, False, False)]


async def test_every_failed_job_is_a_problem_by_its_own_error(connection: Connection) -> None:
    await enroll(connection, "extract", "score")
    nothing = AttemptError("schemas.errors.NothingRelevantError", "Nothing fits.", "nothing_relevant", {})
    run_id = await store_scored_run(connection, {SUBJECT: TIMED_OUT, OTHER: BROKEN, ("few_shot", 316): nothing})

    found = {(one.reason or "").partition(":")[0]: one for one in await problems(connection, is_broker_away=False)}

    assert set(found) == {BROKEN.type, TIMED_OUT.category, nothing.category}
    # What a retry would not find either has another remedy.
    other = found["nothing_relevant"]
    assert (other.what, other.remedy) == (ProblemKind.NOTHING_FOUND, f"ragq failures r{run_id}")


async def test_of_several_replies_that_could_not_be_used_the_last_one_names_the_item(connection: Connection) -> None:
    run_id, job_id = await waiting_job(connection)
    claim = await claimed(connection, job_id)
    for key in ("PHQ8_Sleep", "PHQ8_Tired"):
        await call_model(connection, claim.attempt_id, key, purpose=f"score {key}")
        await ledger.reject_last(connection, claim.attempt_id)
    await stages.fail(connection, claim, TIMED_OUT, inputs={})

    (failure,) = await run_failures(connection, run_id)

    assert failure.evidence_key == "PHQ8_Tired"


async def test_an_extraction_of_only_hallucinated_quotes_is_found(connection: Connection) -> None:
    hallucinated = {"rejected": {"Sleep": 2, "Tired": 1}, "quotes": {"Sleep": [], "Tired": []}}
    grounded = {"rejected": {"Sleep": 2}, "quotes": {"Sleep": [], "Tired": ["I am tired"]}}
    run_id = await store_scored_run(connection, {SUBJECT: scores("1")}, extracted=hallucinated)
    other = await store_scored_run(connection, {SUBJECT: scores("1")}, extracted=grounded)

    (found,) = await run_failures(connection, run_id)

    assert (found.subject, found.category) == ("316", "evidence_hallucination")
    assert found.message == "None of 3 extracted quotes is in the transcript; the job continued without any."
    assert await run_failures(connection, other) == ()


async def test_jobs_whose_queue_no_worker_takes_are_a_problem_until_one_does(connection: Connection) -> None:
    run_id = await store_scored_run(connection, {SUBJECT: None, OTHER: None})

    (problem,) = await problems(connection, is_broker_away=False)
    assert (problem.what, problem.run_id, problem.stage, problem.jobs) == ("no_worker", run_id, "extract", 2)
    assert problem.since is not None and problem.remedy == "ragq worker --stages extract"
    await enroll(connection, "extract")
    assert await now(connection) == []
    await connection.execute("UPDATE worker SET seen_at = now() - interval '1 minute'")
    assert await now(connection) == [("no_worker", "extract", 2)]
    _, without_broker = await problems(connection, is_broker_away=True)
    assert (without_broker.what, without_broker.jobs, without_broker.remedy) == ("no_broker", 2, "ragq doctor")


async def test_a_stage_is_lost_once_its_lease_is_over_for_ten_seconds(connection: Connection) -> None:
    run_id, job_id = await waiting_job(connection)
    await enroll(connection, "extract")
    await claimed(connection, job_id, lease_s=0)

    assert await now(connection) == []
    await connection.execute("UPDATE stage_run SET lease_until = now() - interval '11 seconds'")
    assert await now(connection) == [("worker_lost", "extract", 1)]
    await stages.expire(connection, max_interruptions=3)
    assert await failures(connection, run_id) == [("extract", 1, "worker_lost", False, False)]


async def test_what_waits_for_a_time_says_until_when_and_paused_jobs_say_why(connection: Connection) -> None:
    await enroll(connection, "extract")
    (waiting, _), (paused, _) = await waiting_job(connection), await waiting_job(connection)
    await connection.execute("UPDATE job SET sent_at = now() + interval '1 hour' WHERE run_id = $1", waiting)
    await jobs.hold(connection, JobStatus.PAUSED, "the GPU is needed", run_id=paused)

    first, second = await problems(connection, is_broker_away=False)

    assert (first.what, first.run_id, first.reason) == ("paused", paused, "the GPU is needed")
    assert (second.what, second.run_id) == ("waits", waiting)
    assert second.until is not None and second.since is not None
    assert second.until - second.since > timedelta(minutes=59)
