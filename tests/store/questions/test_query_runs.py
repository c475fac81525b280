"""A run of queries as reports read it."""

import pytest

from schemas.errors import Refused
from schemas.statuses import JobStatus
from store.database import Database
from store.questions import query_lines
from store.questions.query_runs import query_run
from store.runs import runs
from tests.store.conftest import new_run
from tests.store.query_runs import store_corpus, store_query_run


async def test_rankings_judgements_and_names_are_read(database: Database) -> None:
    async with database.connection() as connection:
        chunks = await store_corpus(connection, ["d1", "d2"])
        one, two = chunks["d1"], chunks["d2"]
        run_id = await store_query_run(
            connection,
            {
                "a": {
                    "dense": [two, one],
                    "lexical": [],
                    "fused": [two, one],
                    "ranking": [one, two],
                    "accepted": [one],
                    "groups": [one],
                },
                "b": None,
                "c": {"dense": [one], "lexical": [one], "fused": [one]},
            },
            [("a", "d1", 1), ("a", "d9", 2), ("b", "d8", 0)],
            settings={"retrieval.fusion": "zscore"},
        )
        found = await query_run(connection, run_id)

    assert found is not None
    assert found.documents == {one: "d1", two: "d2"}
    first, second, third = found.queries
    assert (first.key, first.corpus, first.embedding_model, first.judgements) == (
        "a",
        "small",
        "tiny",
        {"d1": 1, "d9": 2},
    )
    assert first.retrieved is not None
    assert [hit.chunk_id for hit in first.retrieved.fused] == [two, one]
    assert (first.ranker, first.ranking, first.selected, first.groups) == (
        "score-fusion",
        (one, two),
        (one, two),
        ((one,),),
    )
    assert first.verdicts is not None
    assert [(verdict.chunk_id, verdict.decision) for verdict in first.verdicts] == [(one, "accept"), (two, "reject")]
    assert (second.status, second.retrieved, second.ranking) == (JobStatus.FAILED, None, None)
    assert (third.ranking, third.verdicts, third.groups) == (None, None, None)
    assert (found.unknown_documents, found.failures) == (1, {"work_changed": 1})
    assert [attempt.stage for attempt in found.attempts][:2] == ["retrieve", "rerank"]


async def test_a_deleted_chunk_has_no_document(database: Database) -> None:
    async with database.connection() as connection:
        chunks = await store_corpus(connection, ["d1"])
        run_id = await store_query_run(
            connection, {"a": {"dense": [chunks["d1"]], "lexical": [], "fused": [chunks["d1"]]}}
        )
        await connection.execute("DELETE FROM chunks")
        found = await query_run(connection, run_id)

    assert found is not None
    assert found.documents == {}


async def test_queries_without_ids_are_distinguished_by_their_text(database: Database) -> None:
    async with database.connection() as connection:
        await store_corpus(connection, [])
        run_id = await store_query_run(connection, {"a": None, "b": None, "c": None})
        await connection.execute("UPDATE queries SET external_id = NULL")
        await connection.execute("UPDATE queries SET original_query = 'Why?' WHERE original_query NOT LIKE '%c'")
        found = await query_run(connection, run_id)

    assert found is not None
    first, second, third = (query.key for query in found.queries)
    # sha256sum of Why?
    assert (first, second) == ("5d8a995a6fa7cf7c", "5d8a995a6fa7cf7c#2")
    assert len(third) == 16


async def test_no_text_is_read(database: Database) -> None:
    async with database.connection() as connection:
        chunks = await store_corpus(connection, ["d1"])
        one = [chunks["d1"]]
        run_id = await store_query_run(connection, {"a": {"dense": one, "lexical": one, "fused": one, "ranking": one}})
        found = await query_run(connection, run_id)
        stored = await query_lines.lines(connection)

    assert found is not None
    assert "words" not in found.model_dump_json()
    assert stored[0].original_query not in found.model_dump_json()


async def test_a_missing_run_is_none_and_one_without_queries_is_refused(database: Database) -> None:
    async with database.connection() as connection:
        assert await query_run(connection, 99) is None
        stored = await runs.store(connection, new_run(), always_new=True)
        with pytest.raises(Refused, match="has no queries to report"):
            await query_run(connection, stored.run_id)
