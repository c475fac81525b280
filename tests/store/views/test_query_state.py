"""The view of queries for those who read by SQL."""

from api.rest.queries import detail_of
from store.database import Connection
from store.questions.query_runs import query_view
from store.runs import edits
from tests.services.questions.questions import VECTORS, WHOLE, a_question, complete_stages

SEED_COLUMNS = (
    "id, original_query, expanded_queries, hyde_answer, intent, entities, embedding_original, embeddings_mqe, "
    "embedding_hyde, vector_status, retrieved_context, clean_retrieval_context, created_at, updated_at"
)
STATE = "SELECT * FROM query_state"


async def test_it_has_the_columns_of_the_seeds_table_with_the_values_of_the_api(connection: Connection) -> None:
    query = await a_question(connection, *WHOLE)
    row = dict(await connection.fetchrow(STATE))
    shown = detail_of(await query_view(connection, query.id)).model_dump(mode="json", by_alias=True)

    assert ", ".join(row) == SEED_COLUMNS
    assert row.pop("updated_at") > row.pop("created_at")
    assert row.pop("embedding_original").to_list() == VECTORS[0].tolist()
    assert row.pop("embeddings_mqe") == VECTORS[1:3].tolist()
    assert row.pop("embedding_hyde").to_list() == VECTORS[3].tolist()
    assert row.pop("clean_retrieval_context") == [
        {name: value for name, value in passage.items() if name != "place"}
        for passage in shown["clean_retrieval_context"]
    ]
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
