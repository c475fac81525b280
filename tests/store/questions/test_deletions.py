"""A deletion removes every text of the question, and nothing else."""

import json

import pytest

from schemas.errors import MissingError, StageRunningError
from schemas.values.requests import QueryEdit, QueryRequest, SubmittedQuery
from schemas.values.runs import AttemptError
from services.new_runs import store_run
from services.questions.edits import answer, ask, edit
from services.questions.steps import Step, run_stages
from services.questions.submission import plan_queries
from store.database import Connection
from store.questions import presets, queries, query_runs
from store.questions.queries import StoredQuery
from store.runs import chain, overviews, stages
from tests.services.questions.questions import OUTPUTS, WHOLE, complete_stages, request, settings, store_small_corpus
from tests.store.scored import call_model, claimed, counted

MARK = "quetzal"
COLUMNS = """
SELECT table_name, column_name FROM information_schema.columns JOIN information_schema.tables
    USING (table_schema, table_name)
WHERE table_type = 'BASE TABLE' AND table_schema = 'public'
    AND data_type IN ('text', 'character varying', 'jsonb', 'json', 'ARRAY')
"""


async def marked(connection: Connection) -> list[str]:
    """The columns of the whole database that contain the marker text."""
    return [
        f"{table}.{column}"
        for table, column in await connection.fetch(COLUMNS)
        if await connection.fetchval(f"""SELECT EXISTS (SELECT FROM "{table}" WHERE "{column}"::text ~ '{MARK}')""")
    ]


async def call_a_model(connection: Connection, job_id: int, stage: str, text: str) -> None:
    """Complete a stage that asks a model."""
    claim = await claimed(connection, job_id, stage)
    await call_model(connection, claim.attempt_id, text, purpose="expand", text=f"reply to {text}")
    await stages.commit(connection, claim, inputs={}, output=OUTPUTS["expand"] | {"hyde_answer": text})


async def a_marked_question(connection: Connection) -> StoredQuery:
    """A question with the marker text in every column that can hold it."""
    reply = json.dumps({"queries": [f"{MARK} feathers"], "hyde_answer": MARK})
    await store_small_corpus(connection)
    asked = request(f"What is a {MARK}?", expansion_reply=reply)
    query, _ = await ask(connection, asked, settings())
    await run_stages(connection, query.id, first="expand", last="generate")
    await call_a_model(connection, query.job_id, "expand", f"What is a {MARK}?")
    await complete_stages(connection, query.job_id, *WHOLE[1:])
    await answer(connection, query.id, f"A {MARK}, written manually.")
    await edit(connection, query.id, QueryEdit(hyde_answer=f"The {MARK} is a bird."), run=False)
    await run_stages(connection, query.id, Step.EMBED)
    claim = await claimed(connection, query.job_id, "embed")
    failure = AttemptError("a.B", "broke", "unknown", {"words": f"no vector for {MARK}"})
    await stages.fail(connection, claim, failure, inputs={})
    await connection.execute(
        "UPDATE queries SET judgements = jsonb_build_object($2::text, 1) WHERE id = $1", query.id, f"{MARK}.md"
    )
    return query


async def test_no_text_of_a_deleted_question_and_its_former_runs_is_left_anywhere(connection: Connection) -> None:
    query = await a_marked_question(connection)
    for name in ("Broad", "Broader"):
        await presets.create(connection, name)
        query = await run_stages(connection, query.id, Step.EXPAND, preset=name)
        await complete_stages(connection, query.job_id, "expand")
    assert len(await marked(connection)) >= 8
    assert await counted(connection, "run", "job") == [3, 3]

    await query_runs.delete_query(connection, query.id)

    assert await marked(connection) == []
    tables = ("run", "job", "stage_run", "stage_attempt", "stage_vector", "llm_call", "llm_call_use", "queries")
    assert await counted(connection, *tables, "results") == [0] * 9
    with pytest.raises(MissingError):
        await query_runs.delete_query(connection, query.id)


async def test_a_single_query_of_a_set_can_be_deleted_and_the_set_submitted_again(connection: Connection) -> None:
    texts = {"q1": f"What is a {MARK}?", "q2": "What is a bridge?"}
    asked = QueryRequest(
        queries=tuple(SubmittedQuery(id=id_, text=text, judgements={"A work": 1}) for id_, text in texts.items()),
        corpora=("small",),
    )
    await store_small_corpus(connection)
    planned = await plan_queries(connection, asked, settings())
    stored = await store_run(connection, planned)
    for job_id in stored.job_ids:
        await complete_stages(connection, job_id, "expand", "embed")
    assert (await store_run(connection, planned)).is_new is False
    query, other = [await queries.of_job(connection, job_id) for job_id in stored.job_ids]
    assert query is not None and other is not None

    # One with a running stage is not deleted.
    await claimed(connection, other.job_id, "retrieve")
    running = await queries.get(connection, other.id)
    with pytest.raises(StageRunningError):
        await query_runs.delete_query(connection, other.id)
    assert await queries.get(connection, other.id) == running

    await query_runs.delete_query(connection, query.id)

    assert await marked(connection) == []
    assert (await overviews.get(connection, stored.run_id)).jobs == 1
    assert (await chain.audit(connection, stored.run_id)) == (3, [])
    again = await store_run(connection, planned)
    assert (again.is_new, len(again.job_ids)) == (True, 2)
