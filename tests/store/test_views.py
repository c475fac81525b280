"""The view of queries for those who read by SQL, and a job with its whole history."""

from typing import Any

from store.database import Connection
from store.questions.query_runs import query_view
from store.runs import edits, jobs
from store.views import job_trace
from tests.services.questions.questions import VECTORS, WHOLE, a_question, complete_stages
from tests.store.query_runs import store_corpus, store_query_run
from tests.store.scored import TIMED_OUT, call_model, store_scored_run

SEED_COLUMNS = (
    "id, original_query, expanded_queries, hyde_answer, intent, entities, embedding_original, embeddings_mqe, "
    "embedding_hyde, vector_status, retrieved_context, clean_retrieval_context, created_at, updated_at"
)
STATE = "SELECT * FROM query_state"


async def test_it_has_the_columns_of_the_seeds_table_with_the_values_of_the_api(connection: Connection) -> None:
    query = await a_question(connection, *WHOLE)
    row = dict(await connection.fetchrow(STATE))
    shown = (await query_view(connection, query.id)).model_dump(mode="json", by_alias=True)

    assert ", ".join(row) == SEED_COLUMNS
    assert row.pop("updated_at") > row.pop("created_at")
    assert row.pop("embedding_original").to_list() == VECTORS[0].tolist()
    assert row.pop("embeddings_mqe") == VECTORS[1:3].tolist()
    assert row.pop("embedding_hyde").to_list() == VECTORS[3].tolist()
    assert row == {name: shown[name] for name in row}


async def test_what_is_not_stored_or_stale_is_null(connection: Connection) -> None:
    query = await a_question(connection)
    new = await connection.fetchrow(STATE)
    await complete_stages(connection, query.job_id, *WHOLE)
    await edits.redo(connection, query.job_id, "embed")
    stale = await connection.fetchrow(STATE)

    assert [name for name, value in new.items() if value is not None] == [
        *("id", "original_query", "vector_status", "created_at", "updated_at")
    ]
    assert (new["vector_status"], stale["vector_status"]) == ("no_vec", "to_vec")
    assert stale["expanded_queries"] is not None
    assert (stale["embeddings_mqe"], stale["retrieved_context"]) == (None, None)


async def test_calls_are_listed_at_the_attempt_that_made_them(connection: Connection) -> None:
    run_id = await store_scored_run(connection, {("few_shot", 316): TIMED_OUT})
    (job_id,) = await jobs.of_run(connection, run_id)
    rows = await connection.fetch("SELECT id FROM stage_attempt WHERE job_id = $1", job_id)
    for attempt_id, is_reused in ((rows[0]["id"], False), (rows[-1]["id"], False), (rows[-1]["id"], True)):
        reply: dict[str, Any] = {"text": "accept", "prompt_tokens": 7, "reply_tokens": 2}
        await call_model(connection, attempt_id, "judge this", is_reused=is_reused, **reply)
    trace = await job_trace(connection, job_id)
    first, second = trace.attempts
    assert (first.paid, first.reused, first.paid_tokens) == (1, 0, (7, 2))
    assert (second.paid, second.reused, second.paid_tokens) == (1, 1, (7, 2))
    assert second.calls[1].messages == [{"role": "user", "content": "judge this"}]
    assert second.calls[1].reply == "accept"


async def test_texts_are_read_with_their_ids(connection: Connection) -> None:
    chunk = (await store_corpus(connection, ["nile"]))["nile"]
    found: dict[str, Any] = {"dense": [chunk], "lexical": [], "fused": [chunk], "ranking": [chunk]}
    run_id = await store_query_run(connection, {"q1": found})
    (job_id,) = await jobs.of_run(connection, run_id)
    work_id = await connection.fetchval("SELECT work_id FROM chunks WHERE id = $1", chunk)
    await connection.execute(
        "UPDATE stage_attempt SET output = jsonb_set(output, '{chunks,0,work_id}', to_jsonb($1::bigint))"
        " WHERE job_id = $2 AND stage = 'rerank'",
        work_id,
        job_id,
    )
    trace = await job_trace(connection, job_id)
    assert trace.question is not None
    assert trace.question.original_query == "text of the question about q1"
    assert trace.titles == {work_id: "A title"}
