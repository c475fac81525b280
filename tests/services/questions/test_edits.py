"""Edits of a query remove stale stages from the chain or run them again; and its prompt, seen and answered."""

from contextlib import nullcontext
from typing import Any

import pytest

from schemas.errors import MissingError, QueryValueError, StageRunningError
from schemas.values.queries import AugmentedPrompt, ContextSource, Expansion, Intent, Origin
from schemas.values.requests import QueryEdit
from services.questions.edits import answer, edit, preview
from stages.queries.templates import TemplateTag, default_template
from store.database import Connection
from store.questions import presets, queries
from store.questions.queries import StoredQuery
from store.runs import attempts, jobs, stages
from tests.refusals import refused
from tests.services.questions.questions import (
    EXPANSION,
    VECTORS,
    WHOLE,
    a_question,
    chain,
    complete_stages,
    flaws,
    job_status,
)
from tests.store.scored import claimed


async def expansion(connection: Connection, query: StoredQuery) -> Expansion:
    stored = await attempts.output(connection, query.job_id, "expand")
    assert stored is not None
    return Expansion.model_validate(stored.value)


async def needs(connection: Connection, query: StoredQuery) -> str:
    return (await queries.get(connection, query.id)).status


async def test_a_changed_expansion_keeps_its_other_parts_and_leaves_what_does_not_depend_on_it(
    connection: Connection,
) -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any], int, str]] = [
        # What is not embedded keeps the vectors.
        ({"intent": "definition"}, {"intent": Intent.DEFINITION}, 2, "needs_retrieval"),
        ({"intent": " buy a\nteapot "}, {"intent": "buy a teapot"}, 2, "needs_retrieval"),
        ({"entities": ["leaf", " "], "intent": None}, {"entities": ("leaf",), "intent": None}, 2, "needs_retrieval"),
        ({"entities": []}, {"entities": ()}, 2, "needs_retrieval"),
        ({"expanded_queries": [" tannin ", "tea"]}, {"queries": ("tannin", "tea")}, 1, "needs_embeddings"),
        ({"expanded_queries": None}, {"queries": ()}, 1, "needs_embeddings"),
        ({"hyde_answer": "Because."}, {"hyde_answer": "Because."}, 1, "needs_embeddings"),
        ({"hyde_answer": None}, {"hyde_answer": ""}, 1, "needs_embeddings"),
        ({"expanded_queries": ["", "tea"], "intent": ""}, {"queries": ("tea",), "intent": None}, 1, "needs_embeddings"),
    ]
    for change, new, left, needed in cases:
        query = await a_question(connection, *WHOLE)
        await edit(connection, query.id, QueryEdit(**change), run=False)

        assert await expansion(connection, query) == EXPANSION.model_copy(update=new | {"origin": Origin.EDITED})
        assert await chain(connection, query.job_id) == dict.fromkeys(WHOLE[:left], "done")
        assert (await job_status(connection, query.job_id), await needs(connection, query)) == ("succeeded", needed)
        assert await jobs.pending_chains(connection, [query.job_id]) == []
        embedded = await attempts.output(connection, query.job_id, "embed")
        vectors = None if embedded is None else (await attempts.vectors(connection, embedded.attempt_id)).tolist()
        assert vectors == (VECTORS.tolist() if left == 2 else None)
    assert await flaws(connection) == []


async def test_another_text_keeps_the_expansion_but_no_vectors(connection: Connection) -> None:
    new = {"origin": Origin.EDITED, "hyde_answer": "Because."}
    change = QueryEdit(original_query=" Why is tea brown? ", hyde_answer="Because.")
    for done, old in (((), Expansion(origin=Origin.NONE)), (("expand",), EXPANSION), (WHOLE, EXPANSION)):
        query = await a_question(connection, *done)
        await edit(connection, query.id, change, run=False)

        assert (await queries.get(connection, query.id)).original_query == "Why is tea brown?"
        assert await expansion(connection, query) == old.model_copy(update=new)
        assert await chain(connection, query.job_id) == {"expand": "done"}
        assert await needs(connection, query) == "needs_embeddings"


async def test_values_that_are_there_already_or_cannot_be_chosen_change_nothing(connection: Connection) -> None:
    query = await a_question(connection, *WHOLE)
    stored, before = await queries.get(connection, query.id), await attempts.history(connection, query.job_id)
    cases: list[tuple[dict[str, Any], str | None]] = [
        ({}, None),
        ({"original_query": " Why is tea dark?"}, None),
        ({"intent": "mechanism", "entities": ["tea"], "hyde_answer": "Oxygen darkens it.", "context": [1, 2, 3]}, None),
        ({"expanded_queries": list(EXPANSION.queries)}, None),
        ({"context": [1, 1]}, "3 passages"),
        ({"context": [4]}, "3 passages"),
        ({"context": []}, "3 passages"),
        ({"context": [2, 1], "intent": "CRITIQUE"}, "as it was"),
    ]
    for change, problem in cases:
        with pytest.raises(QueryValueError, match=problem) if problem else nullcontext():
            context = change.pop("context", None)
            await edit(connection, query.id, QueryEdit(**change), context=context, run=False)

        assert await chain(connection, query.job_id) == dict.fromkeys(WHOLE, "done")
        assert len(await attempts.history(connection, query.job_id)) == len(before)
        assert await queries.get(connection, query.id) == stored


async def test_an_edit_of_a_running_or_deleted_question_is_refused(connection: Connection) -> None:
    query = await a_question(connection, "expand")
    with refused("step-not-ready", match="stage 'consolidate' comes first"):
        await edit(connection, query.id, context=(1,), run=False)
    await stages.claim(connection, query.job_id, "embed", "worker", 60)
    with pytest.raises(StageRunningError):
        await edit(connection, query.id, QueryEdit(intent="CRITIQUE"), run=False)
    await connection.execute("DELETE FROM queries")
    with pytest.raises(MissingError):
        await edit(connection, query.id, QueryEdit(intent="CRITIQUE"), run=False)


async def test_with_run_what_is_stale_runs_again_up_to_the_end_of_the_chain(connection: Connection) -> None:
    for changes, context, stale_from, last in (
        (QueryEdit(original_query="Why is tea brown?"), None, 1, 7),
        (QueryEdit(intent="CRITIQUE"), None, 2, 8),
        (QueryEdit(), (2, 1), 6, 7),
    ):
        query = await a_question(connection, *WHOLE[:last], until=WHOLE[last - 1])
        await edit(connection, query.id, changes, context=context, run=True)

        states = ["done"] * stale_from + ["ready"] + ["waiting"] * (last - stale_from - 1)
        assert list((await chain(connection, query.job_id)).values()) == states
        assert await job_status(connection, query.job_id) == "waiting"
        await complete_stages(connection, query.job_id, *WHOLE[stale_from:last])
        assert (await job_status(connection, query.job_id), await flaws(connection)) == ("succeeded", [])


TO_CONSOLIDATE = WHOLE[:6]
TO_AUGMENT = WHOLE[:7]


async def test_it_shows_the_passages_in_their_order_and_as_many_as_are_asked_for(connection: Connection) -> None:
    query = await a_question(connection, *WHOLE[:5])
    # Before the consolidation it falls back to the retrieved chunks and is marked.
    early = await preview(connection, query)
    await complete_stages(connection, query.job_id, "consolidate")

    whole = await preview(connection, query)
    short = await preview(connection, query, top_n=2)

    assert (whole.context_source, whole.available, whole.top_n, len(whole.sources)) == ("consolidated", 3, 5, 3)
    assert [source.title for source in short.sources] == ["A work", "A work"]
    assert "passage 2" in short.prompt and "passage 3" not in short.prompt
    assert "Why is tea dark?" in short.prompt and "MECHANISM" in short.prompt
    assert (early.context_source, early.available) == (ContextSource.RETRIEVED, 3)


async def test_another_preset_uses_its_number_of_sources_and_the_template_of_the_question(
    connection: Connection,
) -> None:
    query = await a_question(connection, *TO_CONSOLIDATE)
    await presets.create(connection, "Few", {"augmentation.top_n_contexts": 1})
    text = f"Newer. {default_template(TemplateTag.SHORT_ANSWER)}"
    added = await presets.add_template(connection, TemplateTag.SHORT_ANSWER, text, title="newer")
    await presets.activate_template(connection, TemplateTag.SHORT_ANSWER, added.version)

    found = [await preview(connection, query, preset=preset) for preset in ("balanced", "few")]
    with refused("preset-missing"):
        await preview(connection, query, preset="none of this name")

    assert [(one.template_version, one.top_n, one.prompt.startswith("Newer.")) for one in found] == [
        (1, 5, False),
        (1, 1, False),
    ]


async def test_a_pasted_answer_stores_the_prompt_that_it_answers(connection: Connection) -> None:
    query = await a_question(connection, *TO_CONSOLIDATE, until="consolidate")

    result_id, _ = await answer(connection, query.id, "By oxygen [S1][S3].", top_n=2)

    stored = await attempts.output(connection, query.job_id, "augment")
    assert stored is not None
    augmented = AugmentedPrompt.model_validate(stored.value)
    assert (augmented.top_n, len(augmented.sources)) == (2, 2)
    (result,) = await queries.results(connection, query.id)
    assert (result.id, result.unknown_citations, len(result.sources)) == (result_id, ("S3",), 2)
    assert await chain(connection, query.job_id) == dict.fromkeys(TO_AUGMENT, "done")
    assert (await job_status(connection, query.job_id), await flaws(connection)) == ("succeeded", [])


async def test_an_answer_keeps_what_its_prompt_was_based_on(connection: Connection) -> None:
    query = await a_question(connection, *TO_AUGMENT)
    await claimed(connection, query.job_id, "generate")

    await answer(connection, query.id, "By oxygen [S1].")

    (result,) = await queries.results(connection, query.id)
    assert result.notes == (
        "1 of 4 retrieved chunks dropped as too short (1 retrieval.min_char_count).",
        "The prompt has 1 of 3 available sources.",
    )
    # The prompt is not replaced while the model answers it.
    with pytest.raises(StageRunningError):
        await answer(connection, query.id, "By oxygen.", top_n=1)
