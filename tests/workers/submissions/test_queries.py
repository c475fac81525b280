"""Query runs, planned."""

import numpy as np
import pytest

from schemas.errors import Refused
from schemas.settings.resolve import resolve
from schemas.values.query_sets import QuerySet, SubmittedQuery
from store.database import Database
from tests.store.small_corpora import SearchableChunk, store_corpus
from workers.submissions.queries import QueryRequest, plan_queries


async def test_a_ranker_that_the_corpus_has_no_vectors_for_is_refused(database: Database) -> None:
    request = QueryRequest(
        queries=QuerySet(queries=(SubmittedQuery(external_id="1", text="Why?"),)),
        corpus="small",
        preset_values={"reranking.ranker": "late-interaction"},
    )
    async with database.connection() as connection:
        await store_corpus(connection, [SearchableChunk(1, "tea", np.ones(2, dtype=np.float32))])

        with pytest.raises(Refused, match=r"no vectors of tokens.*--set reranking.ranker=score-fusion"):
            await plan_queries(connection, request, resolve(profile="demo", environment={}))
