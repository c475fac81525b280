"""A deleted run takes with it what belongs to it alone, and nothing of others; old runs are purged."""

from datetime import timedelta

import pytest

from schemas.errors import MissingError
from schemas.statuses import JobStatus
from services.evaluations import plan_evaluation
from services.questions.edits import answer, ask
from services.questions.steps import Step, run_stages
from services.runs import delete_run
from store.database import Connection, Database
from store.questions import presets, queries
from store.questions.query_runs import query_view
from store.references import references
from store.runs import attempts, chain, deletions, jobs, ledger, runs
from store.runs.deletions import DeletedRun
from store.runs.run_view import run_view
from store.runs.scored_runs import scored_run
from tests.api.pages.example_runs import ShownRun, participant_run
from tests.fakes.references import IndexedChunk
from tests.refusals import refused
from tests.services.questions.questions import WHOLE, a_question, complete_stages, request, settings
from tests.services.questions.questions import chain as stage_states
from tests.store.conftest import new_run
from tests.store.questions.test_deletions import a_marked_question, call_a_model, marked
from tests.store.reference_indexes import store_index
from tests.store.scored import claimed, counted
from tests.store.statements import one_waits

OF_RUNS = ("run", "job", "stage_run", "stage_attempt", "stage_vector", "llm_call", "llm_call_use")


async def finished_run(connection: Connection) -> ShownRun:
    """A run of participants in which nothing is left to do."""
    shown = await participant_run(connection)
    await jobs.hold(connection, JobStatus.CANCELLED, None, run_id=shown.run_id)
    for job_id in (shown.running, shown.waiting):
        await connection.execute("UPDATE stage_run SET status = 'waiting' WHERE job_id = $1", job_id)
    return shown


async def test_a_run_goes_with_its_jobs_attempts_vectors_and_calls(connection: Connection) -> None:
    shown = await finished_run(connection)
    (calls,) = await counted(connection, "llm_call")

    deleted = await delete_run(connection, shown.run_id)

    assert deleted == DeletedRun(run_id=shown.run_id, jobs=5, calls=calls, kept_calls=0)
    assert await counted(connection, *OF_RUNS) == [0] * len(OF_RUNS)
    with pytest.raises(MissingError):
        await delete_run(connection, shown.run_id)


async def test_a_question_that_continued_elsewhere_goes_with_its_last_run(connection: Connection) -> None:
    query = await a_marked_question(connection)
    run_ids = [query.run_id]
    for name in ("Broad", "Broader"):
        await presets.create(connection, name)
        query = await run_stages(connection, query.id, Step.EXPAND, preset=name)
        await complete_stages(connection, query.job_id, "expand")
        run_ids.append(query.run_id)
    answers = [answer.id for answer in await queries.results(connection, query.id)]
    query = await queries.get(connection, query.id)

    deleted = await delete_run(connection, run_ids[1])

    assert deleted.jobs == 1
    assert [answer.id for answer in await queries.results(connection, query.id)] == answers
    assert await queries.get(connection, query.id) == query
    # The job of its first run is found past the one that is gone.
    assert (await delete_run(connection, run_ids[2])).jobs == 1
    assert await marked(connection) == []
    assert await counted(connection, "run", "queries", "results", "llm_call") == [0, 0, 0, 0]


async def test_evaluations_go_with_their_answers_alone(connection: Connection) -> None:
    first = await a_question(connection, *WHOLE[:7])
    second, _ = await ask(connection, request("How?"), settings())
    await complete_stages(connection, second.job_id, *WHOLE[:7])
    evaluations = []
    for query in (first, second):
        await answer(connection, query.id, "By oxygen [S1].")
        planned = await plan_evaluation(connection, query.run_id, {})
        evaluations.append((await runs.store(connection, planned)).run_id)
        for run_id in (query.run_id, evaluations[-1]):
            await jobs.hold(connection, JobStatus.CANCELLED, None, run_id=run_id)

    await delete_run(connection, first.run_id)

    kept = await connection.fetch("SELECT id FROM run ORDER BY id")
    assert [row["id"] for row in kept] == [second.run_id, evaluations[1]]


async def test_an_active_run_is_refused_with_the_way_out(connection: Connection) -> None:
    stored = await runs.store(connection, new_run(("316", "317")))
    run_id = stored.run_id
    with refused("run-active", match=f"2 of its jobs are unfinished. `ragq cancel r{run_id}` ends them"):
        await delete_run(connection, run_id)

    await claimed(connection, stored.job_ids[0])
    await jobs.hold(connection, JobStatus.CANCELLED, None, run_id=run_id)
    with refused("run-active", match="a worker still computes stage 'extract'"):
        await delete_run(connection, run_id)

    assert await counted(connection, "run", "job") == [1, 2]


async def test_an_index_that_was_published_outlives_its_run(connection: Connection) -> None:
    chunk = IndexedChunk(1, 301, 0, "text", [1.0, 0.0], {}, {}, ())  # type: ignore[arg-type]
    run_id = await a_finished_run(connection)
    await store_index(connection, 7, [chunk])
    await connection.execute("UPDATE reference_index SET run_id = $1", run_id)
    (before,) = await references.current(connection)

    await delete_run(connection, run_id)

    (after,) = await references.current(connection)
    assert (after.id, after.run_id) == (before.id, None)


NOW = timedelta()


async def purged(connection: Connection, run_id: int | None = None, *, keep_results: bool = False) -> list[DeletedRun]:
    found = await deletions.find(connection, older_than=NOW, run_id=run_id, keep_results=keep_results)
    delete = deletions.empty if keep_results else deletions.delete_run
    return [await delete(connection, one) for one in found]


async def age(connection: Connection, run_id: int, days: int) -> None:
    """Let a run have been submitted and finished so long ago."""
    for table, key, column in (
        ("run", "id", "created_at"),
        ("job", "run_id", "created_at"),
        ("job", "run_id", "finished_at"),
    ):
        older = f"UPDATE {table} SET {column} = {column} - $2::interval WHERE {key} = $1"
        await connection.execute(older, run_id, timedelta(days=days))


async def a_finished_run(connection: Connection) -> int:
    """A run of one job that was cancelled."""
    return await a_held_run(connection, JobStatus.CANCELLED)


async def a_held_run(connection: Connection, status: JobStatus) -> int:
    stored = await runs.store(connection, new_run(), always_new=True)
    await jobs.hold(connection, status, None, run_id=stored.run_id)
    return stored.run_id


async def test_only_runs_that_finished_long_ago_are_purged(connection: Connection) -> None:
    old, young = await a_finished_run(connection), await a_finished_run(connection)
    unfinished, paused = (await participant_run(connection)).run_id, await a_held_run(connection, JobStatus.PAUSED)
    for run_id in (old, unfinished, paused):
        await age(connection, run_id, 91)

    assert await deletions.find(connection, older_than=timedelta(days=90)) == [old]
    now = await deletions.find(connection, older_than=NOW)
    assert (now[:2], {unfinished, paused} & set(now)) == ([old, young], set())


@pytest.mark.parametrize("keep_results", [False, True])
async def test_a_call_that_another_run_uses_during_a_purge_is_kept(database: Database, keep_results: bool) -> None:
    async with database.connection() as user:
        made = [await runs.store(user, new_run(stages=("expand",)), always_new=True) for _ in range(2)]
        await call_a_model(user, made[0].job_ids[0], "expand", "the same")
        claim = await claimed(user, made[1].job_ids[0], "expand")
        await user.execute("UPDATE job SET status = 'succeeded', finished_at = now() WHERE id = $1", made[0].job_ids[0])
        call_id = await user.fetchval("SELECT id FROM llm_call")
        _, (done,) = await one_waits(
            database,
            lambda using: ledger.use(using, claim.attempt_id, call_id, "expand", is_reused=True),
            lambda purging: purged(purging, made[0].run_id, keep_results=keep_results),
        )

        assert (done.calls, done.kept_calls) == (0, 1)
        assert await user.fetchval("SELECT reply FROM llm_call") == "reply to the same"


async def test_results_are_kept_and_what_led_to_them_is_gone(connection: Connection) -> None:
    shown = await finished_run(connection)
    before, report = await run_view(connection, shown.run_id), await scored_run(connection, shown.run_id)
    # Settings and calls of these tests are stored without their real hashes.
    _, flaws = await chain.audit(connection, shown.run_id)
    await connection.execute("""UPDATE llm_call SET tokens = '{"msp": 0.5, "pe": 1, "energy": -1}'""")

    await purged(connection, shown.run_id, keep_results=True)

    after, again = await run_view(connection, shown.run_id), await scored_run(connection, shown.run_id)
    assert [(job.status, job.kept) for job in after.jobs] == [(job.status, job.kept) for job in before.jobs]
    assert [job.scores for job in again.jobs] == [job.scores for job in report.jobs]
    assert await counted(connection, "stage_vector") == [0]
    rows = await connection.fetch("SELECT DISTINCT request::text, reply, tokens FROM llm_call")
    assert [tuple(row) for row in rows] == [("{}", "", None)]
    assert set((await chain.audit(connection, shown.run_id))[1]) <= set(flaws)
    assert await attempts.output(connection, shown.succeeded, "extract") is None
    assert shown.run_id not in await deletions.find(connection, older_than=NOW, keep_results=True)
    assert shown.run_id in await deletions.find(connection, older_than=NOW)

    # Its outputs are gone: a retry starts with the first stage, and the run is active again.
    await jobs.retry(connection, job_id=shown.failed)
    states = list((await stage_states(connection, shown.failed)).values())
    assert states == ["ready"] + ["waiting"] * (len(states) - 1)
    for delete in (deletions.delete_run, deletions.empty):
        with refused("run-active"):
            await delete(connection, shown.run_id)


async def test_the_texts_of_a_purged_question_are_gone_except_question_and_answer(connection: Connection) -> None:
    query = await a_marked_question(connection)
    assert len(await marked(connection)) > 4
    await connection.execute("UPDATE job SET status = 'succeeded', finished_at = now() WHERE status <> 'succeeded'")
    await connection.execute("UPDATE stage_run SET status = 'done' WHERE status <> 'done'")

    await purged(connection, query.run_id, keep_results=True)
    left, shown = await marked(connection), await query_view(connection, query.id)
    await purged(connection, query.run_id)

    assert shown.expansion is None
    assert not {"llm_call.reply", "llm_call.request"} & set(left)
    assert await marked(connection) == []
