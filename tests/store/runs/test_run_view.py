"""Runs for display: failed jobs first, the progress of each, what is left to do, and where it was computed."""

from schemas.statuses import JobStatus
from schemas.values.runs import Environment
from stages.reports.words import origin_words
from store.database import Connection
from store.runs import jobs, runs, stages
from store.runs.jobs import PendingChain, PendingStage
from store.runs.run_view import run_origin, run_view
from tests.fakes.chat import served
from tests.store.conftest import StoreRun, new_run
from tests.store.enrolled import enroll
from tests.store.scored import TIMED_OUT, call_model, claimed, committing, failing, take


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
    assert view.overview.states == dict.fromkeys(("waiting", "running", "failed", "succeeded"), 1)
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
    assert found[first].is_done("extract") and not found[first].is_done("embed") and not found[first].is_done("score")
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
