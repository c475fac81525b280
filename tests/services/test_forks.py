"""Forks copy stored stages and compute the others."""

from typing import Any

import pytest

from schemas.errors import PresetValueError
from schemas.settings.resolve import resolve
from schemas.settings.run import RunSettings
from schemas.values.runs import Target
from services.forks import fork, plan_fork
from services.new_runs import store_run
from services.runs import delete_run
from store.database import Connection, Database
from store.questions import queries
from store.runs import attempts, forks, jobs, runs
from store.runs import chain as chains
from store.runs.runs import NewJob, StoredRun
from tests.refusals import refused
from tests.services.questions.questions import a_question, chain, complete_stages, flaws
from tests.store.conftest import new_run
from tests.store.scored import BROKEN, committing, counted, failing, take
from tests.workers.test_settings_matrix import FULL, JUDGED, STAGES, Bench, bench

__all__ = ["bench"]

PAID = ("stage_vector", "llm_call")
SPEC_33 = {"EMBEDDING_MIN_REFERENCE_SIMILARITY": "0.6", "EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM": "50"}


def of_run(run_id: int, stage: str, **values: str) -> tuple[Target, str, dict[str, str]]:
    return Target(run_id, None), stage, values


async def stored(database: Database, asked: tuple[Target, str, dict[str, str]]) -> StoredRun:
    return await database.once(store_run, await database.once(plan_fork, *asked))


async def a_parent(bench: Bench, options: dict[str, str] = JUDGED, *, profile: str = "paper") -> tuple[int, int]:
    """A run that is done; its number and its job's."""
    job_id = await bench.plan(resolve(profile=profile, options=options, environment={}))
    await bench.compute(job_id)
    return (await bench.database.once(jobs.get, job_id)).run_id, job_id


async def outputs(bench: Bench, job_id: int) -> dict[str, Any]:
    """What the stages behind the embeddings stored: these count how many vectors were there already."""
    return {stage: await bench.output(job_id, stage) for stage in STAGES if stage != "embed"}


async def test_a_fork_computes_from_its_stage_on_and_is_found_again_and_audited_with_what_it_copied(
    bench: Bench,
) -> None:
    parent, parent_job = await a_parent(bench)
    _, whole_job = await a_parent(bench, JUDGED | SPEC_33)
    child, again = [await stored(bench.database, of_run(parent, "rerank", **SPEC_33)) for _ in range(2)]
    other = await stored(bench.database, of_run(parent, "rerank"))
    grandchild = await stored(bench.database, of_run(child.run_id, "retrieve"))
    (job_id,) = child.job_ids
    assert (again.run_id, again.is_new, other.is_new) == (child.run_id, False, True)

    before = await bench.database.once(counted, *PAID)
    states = await bench.database.once(chain, job_id)
    assert list(states.values()) == ["done", "done", "done", "ready", "waiting", "waiting"]
    assert await bench.database.once(chains.audit, child.run_id) == (3, [])
    await bench.compute(job_id, "rerank")

    found, whole = await outputs(bench, job_id), await outputs(bench, whole_job)
    assert found == whole
    assert found["rerank"] != await bench.output(parent_job, "rerank")
    async with bench.database.connection() as connection:
        # Every vector was there, and every verdict in the ledger.
        assert await counted(connection, *PAID) == before
        of_stages = {one.stage: one.worker_id for one in await attempts.history(connection, job_id)}
        assert of_stages == dict.fromkeys(STAGES[:3], "copied") | dict.fromkeys(STAGES[3:], "worker")
        families = [await forks.family(connection, run) for run in (parent, child.run_id, grandchild.run_id)]
        assert (await jobs.get(connection, job_id)).parent_id == parent_job
        await connection.execute("UPDATE stage_vector SET vector = vector + vector")
        _, changed = await chains.audit(connection, child.run_id)
        await connection.execute(
            f"UPDATE stage_attempt SET output = '{{}}' WHERE job_id = {job_id} AND stage = 'extract'"
        )
        _, changed_too = await chains.audit(connection, child.run_id)
    children = dict.fromkeys((child.run_id, other.run_id), "rerank")
    of_child = {grandchild.run_id: "retrieve"}
    assert families == [
        forks.Family(children=children),
        forks.Family(parent_id=parent, stage="rerank", named=parent, children=of_child),
        forks.Family(parent_id=child.run_id, stage="retrieve", named=child.run_id),
    ]
    what = "its output or its vectors changed"
    assert [(flaw.job_id, flaw.stage, flaw.what) for flaw in changed] == [(job_id, "embed", what)]
    assert {flaw.stage for flaw in changed_too} == {"extract", "embed"}


async def test_forks_are_whole_when_the_parent_is_deleted(bench: Bench) -> None:
    parent, parent_job = await a_parent(bench)
    children = [await stored(bench.database, of_run(parent, stage)) for stage in ("validate", "rerank")]
    expected = {stage: await bench.output(parent_job, stage) for stage in STAGES[:3]}
    async with bench.database.connection() as connection:
        await connection.execute("UPDATE job SET status = 'cancelled' WHERE run_id = $1", parent)

        await delete_run(connection, parent)

        for child in children:
            assert (await chains.audit(connection, child.run_id))[1] == []
            family = await forks.family(connection, child.run_id)
            assert (family.parent_id, family.named) == (None, parent)
        await connection.execute("UPDATE job SET status = 'cancelled' WHERE run_id = $1", children[0].run_id)
        await delete_run(connection, children[0].run_id)
    (left,) = children[1].job_ids
    assert {stage: await bench.output(left, stage) for stage in STAGES[:3]} == expected
    await bench.compute(left, STAGES[3])
    assert await bench.database.once(flaws) == []


async def test_what_cannot_be_forked_is_refused_with_a_remedy(bench: Bench) -> None:
    parent, _ = await a_parent(bench)
    for stage, name, value, words in [
        ("rerank", "RAGQ_RETRIEVE_CANDIDATES", "60", "Stage 'retrieve' reads .*--from retrieve --set"),
        ("score", "MODEL_TEMPERATURE", "0.5", "No job of run r1 has a stage 'score'"),
        ("assemble", "OLLAMA_TIMEOUT_SECONDS", "60", "Stage 'extract' reads"),
        ("rerank", "EMBEDDING_DIMENSION", "9", "`ragq submit --config r1.toml --set EMBEDDING_DIMENSION=9`"),
        ("rerank", "PSQ_CONTEXT_WEIGHT", "0.1", "would compute the same"),
        ("rerankk", "EMBEDDING_TOP_K_REFERENCES", "1", "Did you mean 'rerank'"),
    ]:
        with refused("fork-refused", match=words):
            await bench.database.once(plan_fork, *of_run(parent, stage, **{name: value}))


async def test_a_fork_that_leaves_parity_says_so_and_one_that_comes_back_does_not(bench: Bench) -> None:
    parent, _ = await a_parent(bench, FULL | SPEC_33, profile="paper-parity")
    values = {"EMBEDDING_MIN_REFERENCE_SIMILARITY": "0"}, dict.fromkeys(SPEC_33, "0")

    left, parity = [await bench.database.once(plan_fork, *of_run(parent, "rerank", **of)) for of in values]

    assert left.request["left_parity"] == ["EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM=50"]
    assert "left_parity" not in parity.request


async def test_jobs_whose_earlier_stages_are_missing_are_left_out(database: Database, connection: Connection) -> None:
    chain = ("extract", "embed", "retrieve")
    settings = {name: {"value": value, "source": "default"} for name, value in RunSettings().values().items()}
    jobs = [
        *(NewJob(mode="few_shot", subject=subject, inputs={}, stages=chain) for subject in ("1", "2", "3")),
        NewJob(mode="zero_shot", subject="1", inputs={}, stages=("extract", "assemble")),
    ]
    run = new_run(profile="paper", settings=settings, request={"profile_source": "option --profile"}, jobs=jobs)
    parent = await runs.store(connection, run)
    done, late, early, zero_shot = parent.job_ids
    for job_id, ends in ((done, committing({})), (late, failing(BROKEN)), (early, None)):
        await take(connection, job_id, "extract", committing({}) if ends else failing(BROKEN))
        if ends:
            await take(connection, job_id, "embed", committing({}))
            await take(connection, job_id, "retrieve", ends)

    forked = await fork(database, *of_run(parent.run_id, "retrieve"))

    assert [job.subject for job in await forks.parent_jobs(connection, forked.run_id)] == ["1", "2"]
    assert forked.left_out == {"stage 'extract' is not stored": [early], "it has no stage 'retrieve'": [zero_shot]}
    assert forked.jobs == 2
    with refused("fork-refused", match=f"j{early}: stage 'extract' is not stored"):
        await plan_fork(connection, Target(None, early), "retrieve")


async def test_a_fork_of_questions_has_questions_of_its_own(database: Database, connection: Connection) -> None:
    asked = await a_question(connection, "expand", "embed", "retrieve", "rerank", "validate")
    await connection.execute("UPDATE queries SET judgements = '{\"work\": 2}' WHERE id = $1", asked.id)

    child = await stored(database, of_run(asked.run_id, "rerank", **{"retrieval.mmr_lambda": "0.2"}))

    question = await queries.of_job(connection, child.job_ids[0])
    assert question is not None and question.id != asked.id
    assert question.original_query == asked.original_query
    judged = await connection.fetchval("SELECT judgements FROM queries WHERE id = $1", question.id)
    assert judged == {"work": 2}
    settings = await runs.settings(connection, child.run_id)
    assert settings["retrieval.mmr_lambda"] == {"value": 0.2, "source": "option"}
    await complete_stages(connection, child.job_ids[0], "rerank", "validate", "consolidate", "augment", "generate")
    assert await flaws(connection) == []
    vectors = await attempts.output(connection, child.job_ids[0], "embed")
    assert vectors is not None and len(await attempts.vectors(connection, vectors.attempt_id)) == 4
    with pytest.raises(PresetValueError, match=r"retrieval\.mmr_lambda"):
        await plan_fork(connection, *of_run(asked.run_id, "rerank", **{"retrieval.mmr_lambda": "2"}))
    with refused("fork-refused", match=r"Stage 'retrieve' reads retrieval\.rrf_k"):
        await plan_fork(connection, *of_run(asked.run_id, "rerank", **{"retrieval.rrf_k": "2"}))
    await connection.execute("DELETE FROM queries WHERE id = $1", asked.id)
    with refused("fork-refused", match="its question continued in another run"):
        await plan_fork(connection, *of_run(asked.run_id, "rerank"))
