"""The page of a question: its prompt and its answers."""

import re
from typing import Any

import httpx
import pytest

from api.context import ApiContext
from schemas.values.failures import AttemptError
from services.questions.lookup import get_query, query_details
from store.questions import queries, query_lines
from store.questions.queries import StoredQuery
from store.runs import jobs, stages, stored_runs
from tests.api.pages.html import HTML, form, forms, see, send, words
from tests.services.questions.questions import OUTPUTS, VALIDATED, WHOLE, a_question, chain, complete_stages

READY = WHOLE[:6]
OTHER_PASSAGES = (
    "UPDATE stage_attempt SET output = jsonb_set(output, '{groups,0,chunk_ids}', '[4]') WHERE output ? 'groups'"
)


@pytest.fixture
async def ready(ctx: ApiContext) -> StoredQuery:
    """A question with three passages, whose job is idle."""
    async with ctx.database.connection() as connection:
        return await a_question(connection, *READY, until="consolidate")


async def inputs_of(ctx: ApiContext, query: StoredQuery) -> dict[str, object]:
    async with ctx.database.connection() as connection:
        job = await jobs.job(connection, query.job_id)
    assert job is not None
    return dict(job.inputs)


async def test_the_chain_is_shown_with_what_failed(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        query = await a_question(connection, "expand")
        claim = await stages.claim(connection, query.job_id, "embed", "worker", 60)
        assert claim is not None
        await stages.fail(connection, claim, AttemptError("a.Broken", "It <broke>.", "unknown", {}), inputs={})

    shown = await see(client, f"/rag/{query.id}")

    assert "expand ✓ done" in words(shown)
    assert "embed ✗ failed" in words(shown)
    assert "It &lt;broke&gt;." in shown.text
    assert form(shown, f"/rag/{query.id}/decision", "Retry")
    assert "There is no prompt yet" in shown.text


@pytest.mark.parametrize("top_n", [1, 2, 3])
async def test_the_number_of_sources_is_honoured_by_prompt_and_answer(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery, top_n: int
) -> None:
    shown = await see(client, f"/rag/{ready.id}", top_n=top_n)
    assert [f"[S{n}] Source" in shown.text for n in (1, 2, 3)] == [n <= top_n for n in (1, 2, 3)]
    assert f"<option selected>{top_n}</option>" in shown.text

    reply = await send(client, shown, f"/rag/{ready.id}/answer")

    assert (reply.status_code, reply.headers["location"]) == (303, f"/rag/{ready.id}?awaits=0")
    assert (await inputs_of(ctx, ready))["top_n"] == top_n
    async with ctx.database.connection() as connection:
        assert list(await chain(connection, ready.job_id)) == list(WHOLE)


@pytest.mark.parametrize(("chosen", "light"), [("own", None), ("quick", True)])
async def test_a_run_with_a_light_model_lets_choose_who_answers(
    client: httpx.AsyncClient, ctx: ApiContext, chosen: str, light: bool | None
) -> None:
    models = {"RAGQ_QUERY_MODEL": "own", "RAGQ_QUERY_LIGHT_MODEL": "quick"}
    async with ctx.database.connection() as connection:
        query = await a_question(connection, *READY, until="consolidate", environment=models)
    shown = await see(client, f"/rag/{query.id}", top_n=2)

    wanted = form(shown, f"/rag/{query.id}/answer", f"Answer from 2 sources with {chosen}")
    reply = await client.post(wanted.action, headers=HTML, data=wanted)

    assert reply.status_code == 303
    asked_for = await inputs_of(ctx, query)
    assert (asked_for["top_n"], asked_for.get("light_model")) == (2, light)


@pytest.mark.parametrize("models", [{}, {"RAGQ_QUERY_MODEL": "own", "RAGQ_QUERY_LIGHT_MODEL": "own"}])
async def test_a_run_with_one_model_offers_no_choice(
    client: httpx.AsyncClient, ctx: ApiContext, models: dict[str, str]
) -> None:
    async with ctx.database.connection() as connection:
        query = await a_question(connection, *READY, until="consolidate", environment=models)

    shown = await see(client, f"/rag/{query.id}")

    answers = [of.label.strip() for of in forms(shown) if of.action == f"/rag/{query.id}/answer"]
    assert answers == ["Answer from 3 sources"]


async def test_a_run_from_before_the_light_model_offers_no_choice(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery
) -> None:
    async with ctx.database.connection() as connection:
        await connection.execute("UPDATE run SET settings = settings - 'RAGQ_QUERY_LIGHT_MODEL'")

    shown = await see(client, f"/rag/{ready.id}")

    assert form(shown, f"/rag/{ready.id}/answer", "Answer from 3 sources")


async def test_the_prompt_is_shown_with_its_size_and_the_origin_of_its_sources(
    client: httpx.AsyncClient, ready: StoredQuery
) -> None:
    text = words(await see(client, f"/rag/{ready.id}"))

    assert "of 3 consolidated passages" in text
    assert "characters" in text and "words" in text and "tokens (estimated)" in text


async def test_without_consolidation_the_prompt_is_marked_as_retrieved_chunks(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    async with ctx.database.connection() as connection:
        query = await a_question(connection, *WHOLE[:5], until="validate")

    shown = await see(client, f"/rag/{query.id}")

    assert "consolidation has not run" in words(shown)
    assert "of 3 retrieved chunks" in words(shown)
    assert [of.label.strip() for of in forms(shown) if of.action.endswith("/answer")] == ["Answer from 3 sources"]


async def test_a_page_that_waits_for_an_answer_redirects_to_it(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery
) -> None:
    waiting = f"/rag/{ready.id}"
    shown = await see(client, waiting)
    await send(client, shown, f"{waiting}/answer")
    shown = await see(client, waiting, awaits=0)
    assert "The answer is being generated" in shown.text
    assert '<noscript><meta http-equiv="refresh"' in shown.text

    async with ctx.database.connection() as connection:
        await complete_stages(connection, ready.job_id, "augment", "generate")
        await connection.execute(
            "INSERT INTO results (query_id, response_text, origin, prompt_hash, sources, unknown_citations) "
            "VALUES ($1, 'So.', 'model', 'p', '[]', '[]')",
            ready.id,
        )
        (result,) = await queries.results(connection, ready.id)

    there = f"/rag/{ready.id}/results/{result.id}"
    assert (await see(client, waiting, awaits=0)).headers["location"] == there
    part = await client.get(waiting, params={"awaits": 0}, headers={"HX-Request": "true"})
    assert part.headers["hx-redirect"] == there
    assert (await see(client, waiting, awaits=result.id)).status_code == 200


async def test_a_pasted_answer_is_kept_with_the_sources_that_were_shown(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery
) -> None:
    shown = await see(client, f"/rag/{ready.id}", top_n=2)

    reply = await send(client, shown, f"/rag/{ready.id}/pasted", response_text="So [S1].\r\nYes.", top_n=2)
    again = await send(client, shown, f"/rag/{ready.id}/pasted", response_text="So [S1].\r\nYes.", top_n=2)

    async with ctx.database.connection() as connection:
        (result,) = await queries.results(connection, ready.id)
    assert reply.headers["location"] == again.headers["location"] == f"/rag/{ready.id}/results/{result.id}"
    assert (result.response_text, result.origin) == ("So [S1].\nYes.", "pasted")
    assert [source["label"] for source in result.sources] == ["S1", "S2"]


@pytest.mark.parametrize("text", ["   ", "a\x00b"])
async def test_an_answer_that_cannot_be_stored_is_kept_in_its_field(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery, text: str
) -> None:
    shown = await see(client, f"/rag/{ready.id}")

    reply = await send(client, shown, f"/rag/{ready.id}/pasted", response_text=text)

    assert reply.status_code == 422
    assert 'id="wrong-pasted"' in reply.text
    assert f"\n{text}</textarea>" in reply.text


async def test_an_answer_without_a_prompt_is_not_lost(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        query = await a_question(connection, *WHOLE[:2], until="embed")
    shown = await see(client, f"/rag/{query.id}")

    reply = await send(client, shown, f"/rag/{query.id}/pasted", response_text="Because.")

    assert reply.status_code == 422
    assert "\nBecause.</textarea>" in reply.text


async def test_another_question_keeps_the_expansion_and_needs_embeddings(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery
) -> None:
    shown = await see(client, f"/rag/{ready.id}")
    assert "discards 4 vectors, 3 retrieved chunks, 3 passages" in words(shown)

    reply = await send(client, shown, f"/rag/{ready.id}/text", question="Why is coffee dark?")

    assert reply.status_code == 303
    async with ctx.database.connection() as connection:
        (line,) = await query_lines.lines(connection)
    assert (line.original_query, line.status, line.intent) == ("Why is coffee dark?", "needs_embeddings", "MECHANISM")


async def test_an_empty_question_is_refused_at_its_field(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery
) -> None:
    shown = await see(client, f"/rag/{ready.id}")

    reply = await send(client, shown, f"/rag/{ready.id}/text", question=" ")

    assert reply.status_code == 422
    assert "The question is blank" in reply.text
    async with ctx.database.connection() as connection:
        assert (await get_query(connection, ready.id)).original_query == "Why is tea dark?"


async def test_the_page_opens_with_the_newest_answer_and_its_sources(
    client: httpx.AsyncClient, ready: StoredQuery
) -> None:
    shown = await see(client, f"/rag/{ready.id}", top_n=2)
    await send(client, shown, f"/rag/{ready.id}/pasted", response_text="**Oxygen** did it [S1].", top_n=2)

    shown = await see(client, f"/rag/{ready.id}")

    assert "<strong>Oxygen</strong> did it" in shown.text and '<a class="cite" href="#source-S1"' in shown.text
    places = [shown.text.index(f'id="{part}"') for part in ("newest", "source-S1", "source-S2", "state", "prompt")]
    assert places == sorted(places) and 'id="source-S3"' not in shown.text
    assert "The sources changed" not in shown.text
    assert "Demo model: results are not meaningful" in shown.text


@pytest.mark.parametrize(
    ("change", "is_of_others"),
    [
        ("UPDATE queries SET updated_at = now()", 0),
        (OTHER_PASSAGES, 1),
        ("UPDATE stage_run SET status = 'waiting' WHERE stage IN ('validate', 'consolidate', 'augment')", 1),
    ],
)
async def test_an_answer_of_other_sources_is_marked(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery, change: str, is_of_others: int
) -> None:
    at = f"/rag/{ready.id}"
    await send(client, await see(client, at, top_n=2), f"{at}/pasted", response_text="Oxygen did it [S1].")
    async with ctx.database.connection() as connection:
        await connection.execute(change)
        (result,) = await queries.results(connection, ready.id)

    words_of = {at: "The sources changed", f"{at}/results/{result.id}": "The sources changed"}
    for page, mark in (words_of | {f"{at}/results": "of other sources"}).items():
        assert (mark in (await see(client, page)).text) == is_of_others


async def test_deletion_is_confirmed_and_deletes_everything(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery
) -> None:
    shown = await see(client, f"/rag/{ready.id}")
    assert '<details class="confirm" id="delete">' in shown.text

    reply = await send(client, shown, f"/rag/{ready.id}/delete")

    assert (reply.status_code, reply.headers["location"]) == (303, "/rag")
    assert (await see(client, f"/rag/{ready.id}")).status_code == 404


@pytest.mark.parametrize("path", ["", "/inspect", "/results", "/results/1"])
async def test_a_missing_question_is_reported(client: httpx.AsyncClient, path: str) -> None:
    shown = await see(client, f"/rag/99{path}")

    assert shown.status_code == 404
    assert "There is no query 99." in shown.text


async def test_numbers_out_of_range_are_refused(client: httpx.AsyncClient, ready: StoredQuery) -> None:
    assert (await see(client, f"/rag/{ready.id}", top_n=21)).status_code == 422
    assert (await see(client, f"/rag/{2**63}")).status_code == 422


async def test_other_clients_do_not_get_the_page(client: httpx.AsyncClient, ready: StoredQuery) -> None:
    assert (await client.get(f"/rag/{ready.id}")).status_code == 404
    assert (await client.get(f"/rag/{ready.id}", headers=HTML)).status_code == 200


@pytest.mark.parametrize("path", ["", "/inspect"])
async def test_every_text_is_shown_as_text(client: httpx.AsyncClient, ctx: ApiContext, path: str) -> None:
    strange = '<script>alert("x")</script>'
    outputs = {stage: _with(value, strange) for stage, value in OUTPUTS.items()}
    async with ctx.database.connection() as connection:
        query = await a_question(connection, text=strange)
        await connection.execute("UPDATE works SET title = $1", strange)
        for name in READY:
            claim = await stages.claim(connection, query.job_id, name, "worker", 60)
            assert claim is not None
            await stages.commit(connection, claim, inputs={}, output=outputs[name])

    shown = await see(client, f"/rag/{query.id}{path}")

    assert shown.status_code == 200
    assert "<script>alert" not in shown.text
    assert shown.text.count("&lt;script&gt;alert") > 5


def _with(value: Any, text: str) -> Any:
    """The value with every text of people and models replaced."""
    if isinstance(value, dict):
        free = {"queries", "hyde_answer", "entities", "content", "enriched_content", "heading_breadcrumbs", "prompt"}
        return {
            key: (text if isinstance(of, str) else [text]) if key in free and of else _with(of, text)
            for key, of in value.items()
        }
    return [_with(of, text) for of in value] if isinstance(value, list) else value


async def test_the_question_runs_with_another_preset_and_other_values(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery
) -> None:
    shown = await see(client, f"/rag/{ready.id}")
    assert '<details id="values">' in shown.text and "wrong-values" not in shown.text

    reply = await send(
        client, shown, f"/rag/{ready.id}/again", preset="Original", values="retrieval.min_word_count = 0\n\n"
    )

    assert (reply.status_code, reply.headers["location"]) == (303, f"/rag/{ready.id}")
    async with ctx.database.connection() as connection:
        moved = await get_query(connection, ready.id)
        settings = await stored_runs.settings(connection, moved.run_id)
        stages_now = await chain(connection, moved.job_id)
    assert settings["retrieval.min_word_count"] == {"value": 0, "source": "option"}
    assert settings["retrieval.fusion"]["value"] == "rrf"
    assert list(stages_now.values()) == ["done"] * 2 + ["ready"] + ["waiting"] * 5


async def test_the_question_may_run_up_to_its_passages(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery
) -> None:
    shown = await see(client, f"/rag/{ready.id}")

    await send(client, shown, f"/rag/{ready.id}/again", values="consolidation.line_gap=3", until="consolidate")

    async with ctx.database.connection() as connection:
        moved = await get_query(connection, ready.id)
        assert list(await chain(connection, moved.job_id)) == list(READY)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ("retrieval.dense_limit", "has a line that is not of the form NAME=VALUE"),
        ("retrieval.dense_limit=1000", "retrieval.dense_limit"),
        ("no.such=1", "is not a value of a preset"),
    ],
)
async def test_values_that_cannot_be_used_stay_in_the_form_with_the_reason(
    client: httpx.AsyncClient, ready: StoredQuery, values: str, problem: str
) -> None:
    shown = await see(client, f"/rag/{ready.id}")

    reply = await send(client, shown, f"/rag/{ready.id}/again", values=values)

    assert reply.status_code == 422
    assert problem in reply.text and values in reply.text


async def test_a_question_whose_values_left_nothing_offers_others(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        query = await a_question(connection, "expand", "embed", "retrieve")
        claim = await stages.claim(connection, query.job_id, "rerank", "worker", 60)
        assert claim is not None
        error = AttemptError("schemas.errors.NothingRelevantError", "All too short.", "nothing_relevant", {})
        await stages.fail(connection, claim, error, inputs={})

    shown = await see(client, f"/rag/{query.id}")

    assert '<details id="values" open>' in shown.text
    assert "✗ failed at rerank" in words(shown)


async def test_a_question_that_the_corpus_does_not_answer_shows_the_nearest_passages(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    async with ctx.database.connection() as connection:
        query = await a_question(connection, "expand", "embed", "retrieve", "rerank")
        claim = await stages.claim(connection, query.job_id, "validate", "worker", 60)
        assert claim is not None
        error = AttemptError("schemas.errors.NothingRelevantError", "Below the floor.", "nothing_relevant", {})
        await stages.fail(connection, claim, error, inputs={})
        details = await query_details(connection, query.id)

    seen = await see(client, f"/rag/{query.id}")
    page, shown = seen.text, words(seen)
    over_rest = (await client.get(f"/rag/queries/{query.id}", headers={"Accept": "application/json"})).json()

    nearest = [chunk.content for chunk in VALIDATED.chunks]
    assert "No passage of this corpus answers this." in shown
    assert '<a class="button main" href="#values">Run with other values</a>' in page and "main" not in _button(
        page, "Retry"
    )
    assert [chunk["content"] for chunk in details.nearest] == nearest and all(text in shown for text in nearest)
    assert [chunk["content"] for chunk in over_rest["nearest"]] == nearest


async def test_the_page_states_what_was_lost_on_the_way_to_the_prompt(
    client: httpx.AsyncClient, ready: StoredQuery
) -> None:
    shown = await see(client, f"/rag/{ready.id}")

    assert "1 of 4 retrieved chunks dropped as too short (1 retrieval.min_char_count)." in words(shown)


def _button(page: str, label: str) -> str:
    """The tag that opens a button."""
    found = re.search(rf"<button[^>]*>\s*{label}", page)
    assert found is not None
    return found.group()
