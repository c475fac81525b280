"""Questions, their jobs and answers, what is current of them, and runs of them as reports read them."""

import pytest

from schemas.errors import MissingError
from schemas.statuses import JobStatus
from schemas.values.queries import Answer, Origin
from schemas.values.requests import SubmittedQuery
from services.questions.steps import Step, run_stages
from stages.texts.characters import short_hash
from store.database import Connection
from store.questions import answers, presets, queries
from store.questions.query_runs import query_run, query_view
from store.runs import edits, jobs, runs
from store.runs.runs import StoredRun
from tests.refusals import refused
from tests.services.questions.questions import CONTEXT, EMBEDDED, EXPANSION, FOUND, PROMPT, VALIDATED, WHOLE, a_question
from tests.store.conftest import new_run
from tests.store.query_runs import store_corpus, store_query_run
from tests.store.scored import BROKEN, committing, failing, take
from tests.store.small_corpora import store_corpus as store_empty_corpus

ANSWER = Answer(
    response_text="By steeping [S9].",
    origin=Origin.PASTED,
    model=None,
    prompt_hash="p",
    cited=(),
    unknown_citations=("S9",),
)


async def kept(connection: Connection, *texts: str) -> tuple[StoredRun, int]:
    corpus_id = await store_empty_corpus(connection, [])
    judgements = {"q1": {"tea": 2}}
    names = {f"q{number}": text for number, text in enumerate(texts, 1)}
    asked = [SubmittedQuery(id=id_, text=text, judgements=judgements.get(id_, {})) for id_, text in names.items()]
    inputs = {"expansion": {"origin": "none"}}
    run = new_run([*names], kind="query", mode="answer", inputs=inputs, stages=WHOLE, request={})
    stored = await runs.store(connection, run, always_new=True)
    await queries.keep(connection, stored.run_id, [corpus_id], asked)
    return stored, corpus_id


async def test_every_job_has_its_question_and_its_judgements(connection: Connection) -> None:
    stored, corpus_id = await kept(connection, "How is tea made?", "What is a bridge?")

    found = [await queries.of_job(connection, job_id) for job_id in stored.job_ids]

    texts = [(query.original_query, query.corpus_ids) for query in found if query]
    assert texts == [("How is tea made?", [corpus_id]), ("What is a bridge?", [corpus_id])]
    first = found[0]
    assert first is not None and await queries.get(connection, first.id) == first
    assert await connection.fetchval("SELECT judgements FROM queries WHERE id = $1", first.id) == {"tea": 2}
    with pytest.raises(MissingError):
        await queries.get(connection, 999)


async def test_the_status_shows_what_a_question_needs_next(connection: Connection) -> None:
    stored, _ = await kept(connection, "How is tea made?")
    for done, status, vector_status in [
        (None, "needs_embeddings", "no_vec"),
        ("expand", "needs_embeddings", "to_vec"),
        ("embed", "needs_retrieval", "vec"),
        ("retrieve", "needs_retrieval", "vec"),
        ("rerank", "needs_retrieval", "vec"),
        ("validate", "needs_consolidation", "vec"),
        ("consolidate", "ready", "vec"),
    ]:
        if done is not None:
            await take(connection, stored.job_ids[0], done, committing({}))

        (line,) = await queries.lines(connection)

        assert (done, line.status, line.vector_status) == (done, status, vector_status)
        assert line.has_retrieved_context is (done in ("validate", "consolidate"))
        assert line.has_clean_context is (done == "consolidate")
        assert await queries.counts(connection) == {status: 1}


async def test_a_failed_embedding_shows_as_vec_err_until_a_retry(connection: Connection) -> None:
    stored, _ = await kept(connection, "How is tea made?")
    await take(connection, stored.job_ids[0], "expand", committing({}))
    await take(connection, stored.job_ids[0], "embed", failing(BROKEN))
    (line,) = await queries.lines(connection)
    assert (line.status, line.vector_status) == ("needs_embeddings", "vec_err")

    await jobs.retry(connection, run_id=stored.run_id)

    assert [line.vector_status for line in await queries.lines(connection)] == ["to_vec"]


async def test_answers_are_found_newest_first_by_number_and_by_the_job_that_made_them(connection: Connection) -> None:
    stored, _ = await kept(connection, "How is tea made?", "Why?")
    query, other = [await queries.of_job(connection, job_id) for job_id in stored.job_ids]
    assert query is not None and other is not None
    assert await queries.newest_result(connection, query.id) == 0
    by_hand = ANSWER.model_copy(update={"response_text": "By steeping [S1]."})
    pasted = await queries.add_result(connection, query, by_hand, PROMPT)
    for stage in WHOLE:
        await take(connection, query.job_id, stage, committing({}))
    attempt_id = await connection.fetchval("SELECT max(id) FROM stage_attempt")
    with_water = ANSWER.model_copy(update={"response_text": "With water [S9].", "unknown_citations": ("S9",)})
    broad = query.model_copy(update={"preset": "Broad"})
    made = await queries.add_result(connection, broad, with_water, PROMPT, attempt_id)

    found = await queries.results(connection, query.id)
    assert [result.response_text for result in found] == ["With water [S9].", "By steeping [S1]."]
    assert (found[0].unknown_citations, found[0].preset, found[0].sources) == (("S9",), "Broad", PROMPT.sources)
    assert await queries.result(connection, query.id, pasted) == found[1]
    assert await queries.newest_result(connection, query.id) == made
    assert await queries.made_result(connection, query.id, job_id=query.job_id, after=0) == made
    assert await queries.made_result(connection, query.id, job_id=query.job_id, after=made) is None
    assert await queries.made_result(connection, query.id, job_id=other.job_id, after=0) is None
    with refused("result-missing"):
        await queries.result(connection, other.id, made)


async def test_stored_values_are_shown_and_stale_ones_are_not(connection: Connection) -> None:
    query = await a_question(connection, *WHOLE)

    view = await query_view(connection, query.id)

    outputs = (view.expansion, view.embedded, view.found, view.retrieved, view.consolidated)
    assert outputs == (EXPANSION, EMBEDDED, FOUND, VALIDATED, CONTEXT)
    assert view.available_context_count == len(CONTEXT.groups)

    none_left = CONTEXT.model_copy(update={"groups": ()}).model_dump(mode="json")
    await edits.set_output(connection, query.job_id, "consolidate", none_left)
    view = await query_view(connection, query.id)

    assert view.available_context_count == len(VALIDATED.chunks)

    await edits.redo(connection, query.job_id, "validate")
    view = await query_view(connection, query.id)

    assert (view.found, view.retrieved, view.consolidated, view.available_context_count) == (FOUND, None, None, 0)


async def test_a_prompt_is_found_by_its_hash_whatever_came_after_and_from_before_a_move(connection: Connection) -> None:
    query = await a_question(connection, *WHOLE)
    await run_stages(connection, query.id, Step.RETRIEVE)

    assert await answers.prompt(connection, query.job_id, short_hash(PROMPT.prompt)) == PROMPT.prompt
    assert await answers.prompt(connection, query.job_id, short_hash("another")) is None
    assert await answers.prompt(connection, query.job_id + 1, short_hash(PROMPT.prompt)) is None

    await presets.create(connection, "Broad", {"retrieval.dense_limit": 30})
    moved = await run_stages(connection, query.id, Step.RETRIEVE, preset="Broad")
    assert moved.job_id != query.job_id
    assert await answers.prompt(connection, moved.job_id, short_hash(PROMPT.prompt)) == PROMPT.prompt


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
    assert [chunk_id for chunk_id, _ in first.retrieved.fused] == [two, one]
    assert (first.ranker, first.ranking) == ("score-fusion", (one, two))
    assert (first.selected, first.groups) == ((one, two), ((one,),))
    assert first.verdicts is not None
    assert [(verdict.chunk_id, verdict.decision) for verdict in first.verdicts] == [(one, "accept"), (two, "reject")]
    assert (second.status, second.retrieved, second.ranking) == (JobStatus.FAILED, None, None)
    assert (third.ranking, third.verdicts, third.groups) == (None, None, None)
    assert (found.unknown_documents, found.failures) == (1, {"work_changed": 1})
    assert [one.stage for one in found.work][:2] == ["retrieve", "rerank"]
    # No text is read.
    texts = ("words", *(line.original_query for line in await queries.lines(connection)))
    assert not [text for text in texts if text in found.model_dump_json()]
