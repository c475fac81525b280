"""Checks when a query run is submitted."""

import numpy as np
import pytest

from schemas.errors import Refused
from schemas.settings.resolve import resolve
from schemas.values.queries import QuerySet, RelevanceJudgement, SubmittedQuery
from schemas.values.requests import QueryRequest
from schemas.values.runs import Target
from services.forks import ForkRequest, plan_fork
from services.questions.edits import ask
from services.questions.steps import planned_move
from services.questions.submission import plan_queries
from stages.queries.expand import no_expansion
from stages.reports.words import notices
from store.database import Connection
from store.runs import edits, jobs
from tests.services.questions.questions import a_question, request, settings
from tests.store.small_corpora import SearchableChunk, store_corpus


def judged(*documents: str, relevance: int = 1) -> QueryRequest:
    judgements = [RelevanceJudgement(query_id="1", document=name, relevance=relevance) for name in documents]
    query = SubmittedQuery(external_id="1", text="Why?")
    return QueryRequest(queries=QuerySet(queries=(query,), judgements=tuple(judgements)), corpora=("small",))


async def test_relevant_documents_that_are_in_no_corpus_are_named_and_refused_where_all_are(
    connection: Connection,
) -> None:
    settings = resolve(profile="demo", environment={})
    await store_corpus(connection, [SearchableChunk(1, "tea", np.ones(2, dtype=np.float32))])
    await connection.execute("UPDATE works SET source_path = '/teas/tea.md'")

    with pytest.raises(Refused, match=r"None of the 2 relevant documents .* is in corpus 'small'.*corpus show small"):
        await plan_queries(connection, judged("tea.md", "coffee"), settings)
    some = await plan_queries(connection, judged("tea", "coffee"), settings)
    irrelevant = await plan_queries(connection, judged("coffee", relevance=0), settings)

    notice = "1 relevant documents of the judgements are in no corpus that is asked: no search finds them."
    assert (list(notices("query", "paper", some.request)), list(notices("query", "paper", irrelevant.request))) == (
        [notice],
        [],
    )


async def test_the_same_questions_with_other_judgements_are_another_run(connection: Connection) -> None:
    settings = resolve(profile="demo", environment={})
    await store_corpus(connection, [SearchableChunk(1, "tea", np.ones(2, dtype=np.float32))])
    await connection.execute("UPDATE works SET source_path = '/teas/tea.md'")

    unjudged, one, same, other, more = [
        (await plan_queries(connection, asked, settings)).identity
        for asked in (
            judged(),
            judged("tea", "coffee"),
            judged("coffee", "tea"),
            judged("tea", "coffee", relevance=2),
            judged("tea"),
        )
    ]

    assert (one == same, len({unjudged, one, other, more})) == (True, 4)


async def test_without_an_expander_no_question_is_expanded_whatever_the_preset_has(connection: Connection) -> None:
    without = {"RAGQ_EXPANDER": "none"}
    asked = await a_question(connection, environment=without)
    job = await jobs.get(connection, asked.job_id)

    with pytest.raises(Refused, match="RAGQ_EXPANDER"):
        await ask(connection, request(preset_values={"expansion.enabled": "true"}), settings(without))

    await edits.set_output(connection, asked.job_id, "expand", no_expansion().model_dump(mode="json"))
    move = await planned_move(connection, asked, None, {"expansion.n": 5}, searches=True)
    forked = await plan_fork(
        connection, ForkRequest(target=Target(asked.run_id, None), stage="expand", values={"RAGQ_EXPANDER": "model"})
    )

    assert job.inputs["expansion"] == {"origin": "none"}
    assert move.first is None
    assert [job.inputs["expansion"] for job in forked.jobs] == [{"origin": "model"}]
