"""Questions to several corpora, and to some works of them: what is refused before anything is stored, and frozen."""

from typing import Any

import numpy as np
import pytest

from schemas.errors import Refused
from schemas.values.documents import WorkFilter
from schemas.values.requests import QueryRequest
from services.corpora import delete_corpus
from services.questions.edits import ask
from services.questions.submission import plan_queries
from stages.queries.query_files import single_query
from store.database import Connection
from store.questions import answers, queries
from store.runs import jobs
from tests.services.questions.questions import PROMPT, settings
from tests.store.small_corpora import SearchableChunk, store_corpus

ONE = np.ones(2, dtype=np.float32)


def request(*corpora: str, **wanted: Any) -> QueryRequest:
    return QueryRequest(queries=single_query("Why is tea dark?"), corpora=corpora, **wanted)


async def two_corpora(connection: Connection) -> list[int]:
    ids = [
        await store_corpus(connection, [SearchableChunk(number, "tea", ONE)], name=name)
        for number, name in ((1, "shelf"), (2, "archive"))
    ]
    await connection.execute("UPDATE works SET authors = 'A. Leaf', year = 2019 WHERE corpus_id = $1", ids[0])
    return ids


async def test_a_question_keeps_the_corpora_and_the_filter_that_it_was_asked_with(connection: Connection) -> None:
    works = WorkFilter(author="leaf", year_from=2001)
    ids = await two_corpora(connection)
    query, _ = await ask(connection, request("archive", "shelf", "archive", works=works), settings())
    line = await queries.line(connection, query.id)
    job = await jobs.job(connection, query.job_id)
    basis = await answers.answer_basis(connection, query.job_id, PROMPT)
    whole = await plan_queries(connection, request("shelf"), settings())

    assert (query.corpus_ids, query.works) == ([ids[1], ids[0]], works)
    assert (line.corpora, line.works) == (["archive", "shelf"], works)
    assert job is not None
    assert (job.inputs["corpus_ids"], job.inputs["works"]) == (query.corpus_ids, {"author": "leaf", "year_from": 2001})
    assert (basis.corpora, basis.full_text, basis.works) == (("archive", "shelf"), "english", works)
    # A question to one whole corpus has the identity that it always had.
    assert not {"corpus_ids", "works"} & set(next(iter(whole.jobs)).inputs) | ({"works"} & set(whole.request))


async def test_corpora_that_are_not_alike_are_refused_with_every_difference(connection: Connection) -> None:
    await two_corpora(connection)
    for change, difference in [
        ("model = 'other'", "MODEL_EMBEDDING_MODEL: tiny and other"),
        ("model_digest = 'abc'", "weights: unknown and abc"),
        ("embeds_headings = false", "headings in vectors: True and False"),
        ("language = 'german', full_text = 'german'", "full text: english and german"),
        ("model_dtypes = '{float16}'", "number format of vectors: float32 and float16"),
    ]:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("UPDATE corpus SET model_digest = '', model_dtypes = '{float32}'")
        await connection.execute(f"UPDATE corpus SET {change} WHERE name = 'archive'")

        with pytest.raises(Refused, match=difference) as refused:
            await plan_queries(connection, request("shelf", "archive"), settings())
        await transaction.rollback()

        assert "Corpora 'shelf' and 'archive' cannot be searched together:" in str(refused.value)
        assert "Ask each by itself" in str(refused.value)


async def test_a_filter_that_leaves_nothing_is_refused_before_anything_is_stored(connection: Connection) -> None:
    ids = await two_corpora(connection)
    await connection.execute(
        "INSERT INTO works (corpus_id, title, markdown, content_hash) VALUES ($1, 'It waits', '', 'w')", ids[0]
    )
    for works, words in [
        (WorkFilter(author="nobody"), r"nothing was submitted \(`ragq corpus show shelf` lists them\)"),
        (WorkFilter(year_to=1900), "nothing was submitted"),
        (WorkFilter(title="waits"), "those that do wait for their vectors"),
    ]:
        with pytest.raises(Refused, match=words):
            await ask(connection, request("shelf", works=works), settings())

        assert sum((await queries.counts(connection)).values()) == 0


async def test_a_question_goes_with_any_of_its_corpora(connection: Connection) -> None:
    ids = await two_corpora(connection)
    await ask(connection, request("shelf", "archive"), settings())
    await delete_corpus(connection, ids[1])

    assert sum((await queries.counts(connection)).values()) == 0
