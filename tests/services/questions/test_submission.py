"""Questions submitted: once for each key, to one corpus or several, and what is refused before anything is stored."""

import asyncio

import numpy as np
import pytest

from schemas.errors import QueryValueError, Refused
from schemas.statuses import Priority
from schemas.values.documents import WorkFilter
from schemas.values.requests import QueryRequest, SubmittedQuery
from schemas.values.runs import Target
from services.corpora import delete_corpus
from services.forks import plan_fork
from services.questions.edits import ask
from services.questions.steps import planned_run
from services.questions.submission import plan_queries
from stages.queries.expand import no_expansion
from stages.queries.query_files import single_query
from stages.reports.words import notices
from store.access import RequestKey
from store.database import Connection, Database
from store.questions import answers, queries
from store.runs import edits, jobs
from tests.refusals import refused
from tests.services.questions.questions import PROMPT, WHOLE, a_question, request, settings, store_small_corpus
from tests.store.scored import counted
from tests.store.small_corpora import SearchableChunk, store_corpus

OF_QUERIES = ("run WHERE kind = 'query'", "job WHERE kind = 'query'", "queries", "idempotency_key")
KEY = RequestKey(principal="open", key="k", request_hash="a" * 64)


async def test_the_same_key_finds_the_question_that_it_made_and_one_that_is_refused_leaves_nothing(
    database: Database,
) -> None:
    await database.once(store_small_corpus)
    with refused("preset-missing"):
        await database.once(ask, request(config_preset="Nowhere"), settings(), key=KEY)
    assert await database.once(counted, *OF_QUERIES) == [0, 0, 0, 0]

    asked = await asyncio.gather(*(database.once(ask, request(), settings(), key=KEY) for _ in range(3)))

    assert sorted(is_new for _, is_new in asked) == [False, False, True]
    assert len({query.id for query, _ in asked}) == 1
    assert await database.once(counted, *OF_QUERIES) == [1, 1, 1, 1]


def test_a_text_that_cannot_be_asked_is_refused() -> None:
    texts = {" \n": "blank", "a" * 2001: "2001 characters", "a\x00b": "NUL", "\ud83d": "surrogate"}
    for text, problem in texts.items():
        with pytest.raises(QueryValueError, match=problem):
            single_query(text)


def judged(*documents: str, relevance: int = 1) -> QueryRequest:
    query = SubmittedQuery(id="1", text="Why?", judgements=dict.fromkeys(documents, relevance))
    return QueryRequest(queries=(query,), corpora=("small",))


async def test_documents_in_no_corpus_are_named_and_other_judgements_are_another_run(connection: Connection) -> None:
    await store_small_corpus(connection)
    await connection.execute("UPDATE works SET source_path = '/teas/tea.md'")

    with pytest.raises(Refused, match=r"None of the 2 relevant documents .* is in corpus 'small'.*corpus show small"):
        await plan_queries(connection, judged("tea.md", "coffee"), settings())
    unjudged, irrelevant, some, same, other, more = [
        await plan_queries(connection, asked, settings())
        for asked in (
            *(judged(), judged("coffee", relevance=0), judged("tea", "coffee"), judged("coffee", "tea")),
            *(judged("tea", "coffee", relevance=2), judged("tea")),
        )
    ]

    notice = "1 relevant documents of the judgements are in no corpus that is asked: no search finds them."
    assert list(notices("query", "paper", some.request)) == [notice]
    assert list(notices("query", "paper", irrelevant.request)) == []
    assert some.identity == same.identity
    assert len({plan.identity for plan in (unjudged, some, other, more)}) == 4
    two = tuple(SubmittedQuery(id=name, text="Why?") for name in "12")
    many = await plan_queries(connection, QueryRequest(queries=two, corpora=("small",)), settings())
    assert (unjudged.priority, many.priority) == (Priority.INTERACTIVE, Priority.NORMAL)


async def test_without_an_expander_no_question_is_expanded(connection: Connection) -> None:
    without = {"RAGQ_EXPANDER": "none"}
    asked = await a_question(connection, environment=without)
    job = await jobs.get(connection, asked.job_id)

    await edits.set_output(connection, asked.job_id, "expand", no_expansion().model_dump(mode="json"))
    _, differs = await planned_run(connection, asked, job, None, {"expansion.n": 5}, chain=WHOLE, searches=True)
    forked = await plan_fork(connection, Target(asked.run_id, None), "expand", {"RAGQ_EXPANDER": "model"})

    assert job.inputs["expansion"] == {"origin": "none"}
    assert differs is None
    assert [job.inputs["expansion"] for job in forked.jobs] == [{"origin": "model"}]


ONE = np.ones(2, dtype=np.float32)


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
    query, _ = await ask(connection, request(corpora=("archive", "shelf", "archive"), works=works), settings())
    line = await queries.get(connection, query.id)
    job = await jobs.get(connection, query.job_id)
    basis = await answers.with_basis(connection, query.job_id, PROMPT)

    assert (query.corpus_ids, query.works) == ([ids[1], ids[0]], works)
    assert (line.corpora, line.works) == (["archive", "shelf"], works)
    assert (job.inputs["corpus_ids"], job.inputs["works"]) == (query.corpus_ids, {"author": "leaf", "year_from": 2001})
    assert (basis.corpora, basis.full_text, basis.works) == (("archive", "shelf"), "english", works)
    # It goes with any of its corpora.
    await delete_corpus(connection, ids[0])
    assert await queries.counts(connection) == {}


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

        told = f"Corpora 'shelf' and 'archive' cannot be searched together:\n  {difference}\nAsk each by itself"
        with pytest.raises(Refused, match=told):
            await plan_queries(connection, request(corpora=("shelf", "archive")), settings())
        await transaction.rollback()


async def test_a_filter_that_leaves_nothing_is_refused_before_anything_is_stored(connection: Connection) -> None:
    ids = await two_corpora(connection)
    await connection.execute(
        "INSERT INTO works (corpus_id, title, source_path, markdown, content_hash) "
        "VALUES ($1, 'It waits', 'w.md', '', 'w')",
        ids[0],
    )
    for works, words in [
        (WorkFilter(author="nobody"), r"nothing was submitted \(`ragq corpus show shelf` lists"),
        (WorkFilter(year_to=1900), "nothing was submitted"),
        (WorkFilter(title="waits"), "what waits for its vector"),
    ]:
        with pytest.raises(Refused, match=words):
            await ask(connection, request(corpora=("shelf",), works=works), settings())

        assert sum((await queries.counts(connection)).values()) == 0
