"""A deleted run takes with it what belongs to it alone, and nothing of others."""

import pytest

from schemas.errors import MissingError
from schemas.statuses import JobStatus
from services.questions.steps import Step, run_stages
from services.runs import delete_run
from store.database import Connection
from store.questions import presets, queries
from store.questions import query_runs as question_deletions
from store.questions.queries import StoredQuery
from store.references import references
from store.runs import jobs, runs, stages
from store.runs.deletions import DeletedRun
from tests.api.pages.example_runs import ShownRun, participant_run
from tests.fakes.references import IndexedChunk
from tests.refusals import refused
from tests.services.questions.questions import complete_stages, flaws
from tests.store.conftest import new_run
from tests.store.questions.test_deletions import a_marked_question, call_a_model, counted, marked
from tests.store.reference_indexes import store_index

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


async def test_a_call_that_another_run_used_is_kept(connection: Connection) -> None:
    made = [await runs.store(connection, new_run(stages=("expand",)), always_new=True) for _ in range(2)]
    for stored in made:
        await call_a_model(connection, stored.job_ids[0], "expand", "the same")
    first, second = (stored.run_id for stored in made)

    deleted = await delete_run(connection, first)

    assert (deleted.calls, deleted.kept_calls) == (0, 1)
    assert await counted(connection, "llm_call", "run") == [1, 1]
    assert await flaws(connection) == []
    assert (await delete_run(connection, second)).calls == 1


async def test_the_text_of_its_questions_is_left_nowhere(connection: Connection) -> None:
    query = await a_marked_question(connection)
    await presets.create(connection, "Broad")
    former = query.run_id
    query = await run_stages(connection, query.id, Step.EXPAND, preset="Broad")
    await complete_stages(connection, query.job_id, "expand")
    assert query.run_id != former

    deleted = await delete_run(connection, query.run_id)

    assert deleted.jobs == 1
    assert await marked(connection) == []
    assert await counted(connection, "run", "queries", "results", "llm_call") == [0, 0, 0, 0]


async def moved_twice(connection: Connection) -> tuple[list[int], StoredQuery]:
    """A question that continued in two other runs, and the three runs in their order."""
    query = await a_marked_question(connection)
    run_ids = [query.run_id]
    for name in ("Broad", "Broader"):
        await presets.create(connection, name)
        query = await run_stages(connection, query.id, Step.EXPAND, preset=name)
        await complete_stages(connection, query.job_id, "expand")
        run_ids.append(query.run_id)
    return run_ids, query


async def test_a_question_that_continued_elsewhere_keeps_its_answers_and_its_history(connection: Connection) -> None:
    run_ids, query = await moved_twice(connection)
    answers = [answer.id for answer in await queries.results(connection, query.id)]

    deleted = await delete_run(connection, run_ids[1])

    assert deleted.jobs == 1
    await delete_run(connection, run_ids[0])
    assert [answer.id for answer in await queries.results(connection, query.id)] == answers
    assert await queries.get(connection, query.id) == query
    await question_deletions.delete_query(connection, query.id)
    assert await marked(connection) == []


async def test_an_active_run_is_refused_with_the_way_out(connection: Connection) -> None:
    stored = await runs.store(connection, new_run(("316", "317")))
    run_id = stored.run_id
    with refused("run-active", match=f"2 of its jobs are unfinished. `ragq cancel r{run_id}` ends them"):
        await delete_run(connection, run_id)

    assert await stages.claim(connection, stored.job_ids[0], "extract", "worker", 60)
    await jobs.hold(connection, JobStatus.CANCELLED, None, run_id=run_id)
    with refused("run-active", match="a worker still computes stage 'extract'"):
        await delete_run(connection, run_id)

    assert await counted(connection, "run", "job") == [1, 2]


async def test_an_index_that_was_published_outlives_its_run(connection: Connection) -> None:
    chunk = IndexedChunk(1, 301, 0, "text", [1.0, 0.0], {}, {}, ())  # type: ignore[arg-type]
    run_id = (await runs.store(connection, new_run())).run_id
    await jobs.hold(connection, JobStatus.CANCELLED, None, run_id=run_id)
    await store_index(connection, 7, [chunk])
    await connection.execute("UPDATE reference_index SET run_id = $1", run_id)
    (before,) = await references.current(connection)

    deleted = await delete_run(connection, run_id)

    (after,) = await references.current(connection)
    assert (deleted.kept_indexes, after.id, after.run_id) == ((before.name,), before.id, None)
