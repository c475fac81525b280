"""The steps of a question, one by one, and changes by users and workers in any order."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from schemas.errors import Refused, StageRunningError
from schemas.values.requests import QueryEdit, QueryRequest, SubmittedQuery
from services.new_runs import store_run
from services.questions.edits import answer, ask, edit
from services.questions.steps import Step, run_stages
from services.questions.submission import plan_queries
from store.database import Connection, Database
from store.questions import presets, queries
from store.questions.queries import StoredQuery
from store.runs import attempts, jobs, runs, stages
from tests.refusals import refused
from tests.services.questions import questions
from tests.services.questions.questions import WHOLE, a_question, chain, complete_stages, flaws, job_status
from tests.store.scored import BROKEN, claimed, failing, take

BROAD = {"retrieval.dense_limit": 30}


#: Which stages each step runs, and how many are before them.
STEPS: Final[dict[Step, tuple[int, list[str]]]] = {
    Step.EXPAND: (0, ["expand"]),
    Step.EMBED: (1, ["embed"]),
    Step.RETRIEVE: (2, ["retrieve", "rerank", "validate"]),
    Step.CONSOLIDATE: (5, ["consolidate"]),
    Step.ANSWER: (6, ["augment", "generate"]),
}


@pytest.mark.parametrize("until", ["expand", None])
async def test_a_step_runs_its_stages_and_the_chain_ends_after_them(connection: Connection, until: Any) -> None:
    for step, (before, runs_now) in STEPS.items():
        query = await a_question(connection, until=until)
        already = WHOLE if until is None else WHOLE[:before]
        if until is not None and len(already) > 1:
            await complete_stages(connection, query.job_id, "expand")
            await run_stages(connection, query.id)
            already = already[1:]
        await complete_stages(connection, query.job_id, *already)

        assert (await run_stages(connection, query.id, step)).job_id == query.job_id

        assert list(await chain(connection, query.job_id)) == [*WHOLE[:before], *runs_now]
        assert await job_status(connection, query.job_id) == "waiting"
        (pending,) = await jobs.pending_chains(connection, [query.job_id])
        assert [stage.stage for stage in pending.stages] == runs_now
        await complete_stages(connection, query.job_id, *runs_now)
        assert await job_status(connection, query.job_id) == "succeeded"
    assert await flaws(connection) == []


async def test_some_stages_are_run_again_and_the_chain_ends_after_the_last_of_them(connection: Connection) -> None:
    query = await a_question(connection, *WHOLE)

    await run_stages(connection, query.id, first="rerank", last="consolidate")
    assert list((await chain(connection, query.job_id)).values()) == ["done"] * 3 + ["ready", "waiting", "waiting"]
    assert await flaws(connection) == []


@pytest.mark.parametrize("changed", ["name", "values"])
async def test_another_preset_moves_the_question_to_a_run_of_its_own(connection: Connection, changed: str) -> None:
    query = await a_question(connection, *WHOLE[:7])
    await answer(connection, query.id, "It is [S1].")
    if changed == "name":
        await presets.create(connection, "Broad", BROAD)
    else:
        await presets.change(connection, "Balanced", BROAD)

    preset = "broad" if changed == "name" else "Balanced"
    moved = await run_stages(connection, query.id, Step.RETRIEVE, preset=preset, top_n=2)

    assert (moved.id, moved.job_id != query.job_id, moved.run_id != query.run_id) == (query.id, True, True)
    states = ("done", "done", "ready", "waiting", "waiting")
    assert await chain(connection, moved.job_id) == dict(zip(WHOLE, states, strict=False))
    assert (await runs.settings(connection, moved.run_id))["retrieval.dense_limit"]["value"] == 30
    assert (await runs.settings(connection, query.run_id))["retrieval.dense_limit"]["value"] == 50
    assert moved.preset == preset.capitalize()
    old, new = [await attempts.output(connection, job_id, "embed") for job_id in (query.job_id, moved.job_id)]
    assert old is not None and new is not None and old[1:] == new[1:]
    vectors = [(await attempts.vectors(connection, of.attempt_id)).tolist() for of in (old, new)]
    assert vectors[0] == vectors[1] != []
    (carried,) = await attempts.history(connection, moved.job_id, "embed")
    from_job = {"by": "manual", "from": {"job": query.job_id, "attempt": 1}}
    assert (carried.worker_id, carried.inputs) == ("manual", from_job)
    assert (await jobs.get(connection, moved.job_id)).inputs["top_n"] == 2
    assert len(await queries.results(connection, query.id)) == 1
    assert await job_status(connection, query.job_id) == "cancelled"
    await complete_stages(connection, moved.job_id, "retrieve", "rerank", "validate")
    assert await job_status(connection, moved.job_id) == "succeeded"
    assert await flaws(connection) == []


async def test_stages_of_the_same_values_are_kept(connection: Connection) -> None:
    for first, values in {
        "rerank": {"retrieval.min_word_count": "20"},
        "retrieve": {"retrieval.dense_limit": "30"},
        "consolidate": {"consolidation.line_gap": "3", "augmentation.max_answer_tokens": "90"},
        "augment": {"augmentation.max_answer_tokens": "90"},
        "expand": {"expansion.n": "2"},
    }.items():
        query = await a_question(connection, *WHOLE)
        moved = await run_stages(connection, query.id, values=values)

        states = await chain(connection, moved.job_id)
        assert next(stage for stage, state in states.items() if state != "done") == first
        stored = await runs.settings(connection, moved.run_id)
        assert {name: (str(stored[name]["value"]), stored[name]["source"]) for name in values} == {
            name: (value, "option") for name, value in values.items()
        }
        assert stored["retrieval.lexical_limit"]["source"] == "preset Balanced"
    assert await flaws(connection) == []


@pytest.mark.parametrize("wanted", [{"config_preset": "Balanced"}, {"preset_values": {"retrieval.dense_limit": "90"}}])
async def test_a_question_keeps_the_values_that_it_named(connection: Connection, wanted: dict[str, Any]) -> None:
    query = await a_question(connection, "expand", "embed", until="embed", **wanted)
    await presets.create(connection, "Broad", BROAD)
    await presets.change(connection, "Broad", is_default=True)

    assert (await run_stages(connection, query.id, Step.RETRIEVE)).job_id == query.job_id


async def test_a_question_that_named_none_takes_the_default_preset_at_its_first_search(connection: Connection) -> None:
    query = await a_question(connection, "expand", "embed", until="embed")
    await presets.create(connection, "Broad", BROAD)
    await presets.change(connection, "Broad", is_default=True)

    moved = await run_stages(connection, query.id, Step.RETRIEVE)
    await complete_stages(connection, moved.job_id, "retrieve", "rerank", "validate")
    await presets.change(connection, "Balanced", is_default=True)
    again = await run_stages(connection, moved.id, Step.RETRIEVE)

    assert moved.preset == "Broad"
    assert (await runs.settings(connection, moved.run_id))["retrieval.dense_limit"]["value"] == 30
    assert again.job_id == moved.job_id


async def test_a_question_of_a_set_keeps_the_preset_of_its_set(connection: Connection) -> None:
    texts = ("Why is tea dark?", "What is a bridge?")
    asked = tuple(SubmittedQuery(id=f"q{n}", text=text) for n, text in enumerate(texts, 1))
    await questions.store_small_corpus(connection)
    planned = await plan_queries(connection, QueryRequest(queries=asked, corpora=("small",)), questions.settings())
    stored = await store_run(connection, planned)
    await presets.create(connection, "Broad", BROAD)
    query = await queries.of_job(connection, stored.job_ids[0])
    assert query is not None

    with refused("query-set-preset", match="one of 2"):
        await run_stages(connection, query.id, Step.EXPAND, preset="Broad")


async def test_stages_that_cannot_run_are_refused_with_what_is_missing(connection: Connection) -> None:
    query = await a_question(connection, "expand")
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("embed", {"step": Step.RETRIEVE}, "stage 'retrieve': stage 'embed' comes first"),
        ("retrieve", {"first": "dance"}, "'dance' is not one of those up to 'generate'"),
        ("retrieve", {"first": "generate", "last": "retrieve"}, "'generate' is not one of those up to 'retrieve'"),
        ("retrieve", {"last": "dance"}, "has no stage 'dance'"),
        ("retrieve", {"first": "rerank"}, "not ready for stage 'rerank': stage 'retrieve' comes first"),
        ("retrieve", {"step": Step.ANSWER}, "stage 'augment': stage 'retrieve' comes first"),
        ("rerank", {"step": Step.CONSOLIDATE}, "stage 'consolidate': stage 'rerank' comes first"),
    ]
    for due, stages_asked, problem in cases:
        before = await chain(connection, query.job_id)
        if before[due] == "waiting":
            await complete_stages(connection, query.job_id, WHOLE[WHOLE.index(due) - 1])
            before = await chain(connection, query.job_id)

        with pytest.raises(Refused, match=problem):
            await run_stages(connection, query.id, **stages_asked)
        assert await chain(connection, query.job_id) == before
    # A running stage refuses every step.
    await claimed(connection, query.job_id, "rerank")
    for step in (Step.EXPAND, None):
        with pytest.raises(StageRunningError):
            await run_stages(connection, query.id, step)


Change = Callable[[Connection, StoredQuery], Awaitable[object]]


def of_due(change: Callable[[Connection, int, str], Awaitable[object]]) -> Change:
    """Changes the stage that is due, if there is one."""

    async def changed(connection: Connection, query: StoredQuery) -> None:
        for stage, status in (await chain(connection, query.job_id)).items():
            if status == "ready":
                await change(connection, query.job_id, stage)

    return changed


async def lose(connection: Connection, job_id: int, stage: str) -> None:
    await stages.claim(connection, job_id, stage, "worker", 0)
    await stages.expire(connection, max_interruptions=100)


def taking(step: Step) -> Change:
    return lambda connection, query: run_stages(connection, query.id, step)


async def change_the_preset(connection: Connection, _query: StoredQuery) -> None:
    limit = (await presets.get(connection)).preset.retrieval.dense_limit
    await presets.change(connection, "Balanced", {"retrieval.dense_limit": limit % 100 + 1})


CHANGES: Final[dict[str, Change]] = {
    **{f"step {step}": taking(step) for step in Step},
    "search again by the preset as it is now": lambda c, q: run_stages(
        c, q.id, Step.RETRIEVE, preset="Balanced", top_n=2
    ),
    "change the preset": change_the_preset,
    "run": lambda c, q: run_stages(c, q.id),
    "edit the intent": lambda c, q: edit(c, q.id, QueryEdit(intent="CRITIQUE"), run=False),
    "empty the intent": lambda c, q: edit(c, q.id, QueryEdit(intent=None), run=False),
    "edit the intent and run": lambda c, q: edit(c, q.id, QueryEdit(intent="COMPARISON"), run=True),
    "choose passages and run": lambda c, q: edit(c, q.id, context=(3, 1), run=True),
    "choose passages": lambda c, q: edit(c, q.id, context=(2, 1), run=False),
    "complete a stage": of_due(complete_stages),
    "complete another stage": of_due(complete_stages),
    "fail a stage": of_due(lambda c, job_id, stage: take(c, job_id, stage, failing(BROKEN))),
    "lose a stage": of_due(lose),
}


@given(changes=st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=25), done=st.integers(0, len(WHOLE)))
@example(changes=["step answer", "complete a stage", "run"], done=5)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_stages_are_done_up_to_one_and_the_job_knows(database: Database, changes: list[str], done: int) -> None:
    async with database.connection() as connection:
        if not await connection.fetchval("SELECT count(*) FROM corpus"):
            await questions.store_small_corpus(connection)
        asked, _ = await ask(connection, questions.request(), questions.settings())
        await complete_stages(connection, asked.job_id, *WHOLE[:done])
        for change in changes:
            try:
                await CHANGES[change](connection, await queries.get(connection, asked.id))
            except Refused:
                continue
            query = await queries.get(connection, asked.id)
            where = await chain(connection, query.job_id)
            is_done = [status == "done" for status in where.values()]
            # A prompt that is asked for before the consolidation is made from the retrieved chunks.
            is_early = "step answer" in changes and "augment" in where and "consolidate" not in where
            whole = tuple(stage for stage in WHOLE if stage != "consolidate" or not is_early)
            assert tuple(where) == whole[: len(where)]
            assert is_done == sorted(is_done, reverse=True)
            assert list(where.values()).count("waiting") == max(is_done.count(False) - 1, 0)
            assert (await job_status(connection, query.job_id) == "succeeded") is all(is_done)
        assert await flaws(connection) == []
