"""The prompt of a question, seen before a job makes it, and stored for a pasted answer."""

import pytest

from schemas.errors import StageRunningError
from schemas.values.queries import AugmentedPrompt, ContextSource
from services.questions.edits import answer, preview
from stages.queries.templates import TemplateTag, default_template
from store.database import Connection
from store.questions import presets, queries
from store.runs import attempts
from tests.refusals import refused
from tests.services.questions.questions import WHOLE, a_question, chain, complete_stages, flaws, job_status
from tests.store.scored import claimed

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


async def test_another_preset_uses_its_number_of_sources_and_the_active_template(connection: Connection) -> None:
    query = await a_question(connection, *TO_CONSOLIDATE)
    await presets.create(connection, "Few", {"augmentation.top_n_contexts": 1})
    text = f"Newer. {default_template(TemplateTag.SHORT_ANSWER)}"
    added = await presets.add_template(connection, TemplateTag.SHORT_ANSWER, text, title="newer")
    await presets.activate_template(connection, TemplateTag.SHORT_ANSWER, added.version)

    own = await preview(connection, query, preset="balanced")
    other = await preview(connection, query, preset="few")
    with refused("preset-missing"):
        await preview(connection, query, preset="none of this name")

    assert (own.template_version, own.top_n, own.prompt.startswith("Newer.")) == (1, 5, False)
    assert (other.template_version, other.top_n, other.prompt.startswith("Newer.")) == (added.version, 1, True)


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
