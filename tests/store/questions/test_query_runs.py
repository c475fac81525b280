"""A run of queries as reports read it."""

from schemas.statuses import JobStatus
from store.database import Connection
from store.questions import queries
from store.questions.query_runs import query_run
from tests.store.query_runs import store_corpus, store_query_run


async def test_rankings_judgements_and_names_are_read(connection: Connection) -> None:
    chunks = await store_corpus(connection, ["d1", "d2"])
    one, two = chunks["d1"], chunks["d2"]
    run_id = await store_query_run(
        connection,
        {
            "a": {
                **{"dense": [two, one], "lexical": [], "fused": [two, one]},
                **{"ranking": [one, two], "accepted": [one], "groups": [one]},
            },
            "b": None,
            "c": {"dense": [one], "lexical": [one], "fused": [one]},
        },
        [("a", "d1", 1), ("a", "d9", 2), ("b", "d8", 0)],
        settings={"retrieval.fusion": "zscore"},
    )
    found = await query_run(connection, run_id)

    assert found.documents == {one: "d1", two: "d2"}
    first, second, third = found.queries
    assert (first.key, first.corpus, first.embedding_model) == ("a", "small", "tiny")
    assert first.judgements == {"d1": 1, "d9": 2}
    assert first.retrieved is not None
    assert [hit.chunk_id for hit in first.retrieved.fused] == [two, one]
    assert (first.ranker, first.ranking) == ("score-fusion", (one, two))
    assert (first.selected, first.groups) == ((one, two), ((one,),))
    assert first.verdicts is not None
    assert [(verdict.chunk_id, verdict.decision) for verdict in first.verdicts] == [(one, "accept"), (two, "reject")]
    assert (second.status, second.retrieved, second.ranking) == (JobStatus.FAILED, None, None)
    assert (third.ranking, third.verdicts, third.groups) == (None, None, None)
    assert (found.unknown_documents, found.failures) == (1, {"work_changed": 1})
    assert [one.stage for one in found.work.stages][:2] == ["retrieve", "rerank"]
    # No text is read.
    texts = ("words", *(line.original_query for line in await queries.lines(connection)))
    assert not [text for text in texts if text in found.model_dump_json()]
