"""Checks when a query run is submitted."""

import numpy as np
import pytest

from schemas.errors import Refused
from schemas.settings.resolve import resolve
from schemas.values.query_sets import QuerySet, SubmittedQuery
from services.questions.submission import QueryRequest, plan_queries
from store.database import Database
from tests.store.small_corpora import SearchableChunk, store_corpus

BY_TOKENS = QueryRequest(
    queries=QuerySet(queries=(SubmittedQuery(external_id="1", text="Why?"),)),
    corpora=("small",),
    preset_values={"reranking.ranker": "late-interaction"},
)


async def test_a_ranker_that_the_corpus_has_no_vectors_for_is_refused(database: Database) -> None:
    async with database.connection() as connection:
        await store_corpus(connection, [SearchableChunk(1, "tea", np.ones(2, dtype=np.float32))])

        with pytest.raises(Refused, match=r"no vectors of tokens.*--set reranking.ranker=score-fusion"):
            await plan_queries(connection, BY_TOKENS, resolve(profile="demo", environment={}))


async def test_where_a_corpus_keeps_vectors_of_tokens_they_may_rank(database: Database) -> None:
    async with database.connection() as connection:
        await store_corpus(connection, [SearchableChunk(1, "tea", np.ones(2, dtype=np.float32))])
        await connection.execute("UPDATE corpus SET keeps_token_vectors = true")

        planned = await plan_queries(connection, BY_TOKENS, resolve(profile="demo", environment={}))

    assert planned.run.settings["reranking.ranker"]["value"] == "late-interaction"
