"""The list of questions, the page of one with its prompt and answers, and the page that shows and edits its outputs."""

from typing import Any

import httpx
import pytest

from api.context import ApiContext
from api.pages.answers import answer_html
from schemas.values.queries import ConsolidatedContext, Expansion, Origin
from services.questions.edits import answer
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery
from store.runs import attempts
from tests.api.pages.html import HTML, form, forms, see, send, words
from tests.services.questions.questions import (
    ANSWER,
    CONTEXT,
    EXPANSION,
    PROMPT,
    WHOLE,
    a_question,
    chain,
    complete_stages,
)


async def test_an_idle_question_offers_its_next_step_and_all_that_remain_and_runs_them(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    for done, button in [(1, "Embed"), (2, "Retrieve"), (5, "Consolidate"), (2, "Run all")]:
        query = await a_question(connection, *WHOLE[:done], until=WHOLE[done - 1], text=f"Why {done} {button}?")
        address = f"/rag/{query.id}/steps"
        fields = form(await see(client, "/rag"), address, button)

        reply = await client.post(address, headers=HTML, data=fields)

        assert (reply.status_code, reply.headers["location"]) == (303, f"/rag#question-{query.id}")
        assert (await chain(connection, query.job_id))[WHOLE[done]] == "ready"
    assert list(await chain(connection, query.job_id)) == list(WHOLE)
    shown = await see(client, "/rag")
    assert "2 of 8 retrieve" in words(shown)
    assert "4 questions are running." in words(shown)
    assert not [of for of in forms(shown) if of.action.endswith("/steps")]


async def test_the_next_step_follows_from_the_state_of_the_job(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    query = await a_question(connection, *WHOLE[:2], until="embed")
    for status, buttons in [
        ("failed", ["Retry", "Run all"]),
        ("paused", ["Resume"]),
        ("cancelled", ["Retrieve", "Run all"]),
        ("interrupted", []),
    ]:
        await connection.execute("UPDATE job SET status = $2 WHERE id = $1", query.job_id, status)

        shown = await see(client, "/rag")

        assert [of.label.strip() for of in forms(shown) if of.action.endswith("/steps")] == buttons


OTHER_PASSAGES = (
    "UPDATE stage_attempt SET output = jsonb_set(output, '{groups,0,chunk_ids}', '[4]') WHERE output ? 'groups'"
)


@pytest.fixture
async def ready(connection: Connection) -> StoredQuery:
    """A question with three passages, whose job is idle."""
    return await a_question(connection, *WHOLE[:6], until="consolidate")


async def test_a_page_that_waits_for_an_answer_redirects_to_it(
    client: httpx.AsyncClient, connection: Connection, ready: StoredQuery
) -> None:
    waiting = f"/rag/{ready.id}"
    shown = await see(client, waiting)
    await send(client, shown, f"{waiting}/answer")
    shown = await see(client, waiting, awaits=0)
    assert "The answer is being generated" in shown.text
    assert '<noscript><meta http-equiv="refresh"' in shown.text

    await complete_stages(connection, ready.job_id, "augment", "generate")
    await queries.add_result(connection, ready, ANSWER, PROMPT)
    (result,) = await queries.results(connection, ready.id)

    there = f"/rag/{ready.id}/results/{result.id}"
    assert (await see(client, waiting, awaits=0)).headers["location"] == there
    part = await client.get(waiting, params={"awaits": 0}, headers={"HX-Request": "true"})
    assert part.headers["hx-redirect"] == there
    assert (await see(client, waiting, awaits=result.id)).status_code == 200


@pytest.mark.parametrize(
    ("change", "is_of_others"),
    [
        ("UPDATE queries SET updated_at = now()", 0),
        (OTHER_PASSAGES, 1),
        ("UPDATE stage_run SET status = 'waiting' WHERE stage IN ('validate', 'consolidate', 'augment')", 1),
    ],
)
async def test_an_answer_of_other_sources_is_marked(
    client: httpx.AsyncClient, connection: Connection, ready: StoredQuery, change: str, is_of_others: int
) -> None:
    at = f"/rag/{ready.id}"
    await send(client, await see(client, at, top_n=2), f"{at}/pasted", response_text="Oxygen did it [S1].")
    await connection.execute(change)
    (result,) = await queries.results(connection, ready.id)

    words_of = {at: "The sources changed", f"{at}/results/{result.id}": "The sources changed"}
    for page, mark in (words_of | {f"{at}/results": "of other sources"}).items():
        assert (mark in (await see(client, page)).text) == is_of_others


async def test_values_that_cannot_be_used_stay_in_the_form_with_the_reason(
    client: httpx.AsyncClient, ready: StoredQuery
) -> None:
    shown = await see(client, f"/rag/{ready.id}")
    assert "top_n" in form(shown, f"/rag/{ready.id}#prompt-part", "Show"), (
        "without scripts the number of sources has a button"
    )
    for values, problem in [
        ("retrieval.dense_limit", "is not of the form NAME=VALUE"),
        ("retrieval.dense_limit=1000", "retrieval.dense_limit"),
        ("no.such=1", "is not a value of a preset"),
    ]:
        reply = await send(client, shown, f"/rag/{ready.id}/again", values=values)
        assert (reply.status_code, problem in reply.text, values in reply.text) == (422, True, True)


MARKED = "It is **oxygen** [S2], not [S9].\n\n<script>alert(1)</script>"


async def test_a_citation_links_to_the_passage_of_the_prompt(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery
) -> None:
    result_id, _ = await ctx.database.once(answer, ready.id, MARKED, top_n=2)

    shown = await see(client, f"/rag/{ready.id}/results/{result_id}")

    assert '<a class="cite" href="#source-S2"' in shown.text
    block = shown.text.partition('id="source-S2"')[2]
    assert "[S2] A work › Colour</h3>" in block
    assert '<a href="/ui/works/1/original#page=12"><strong>pages 12 to 13</strong></a>' in block.partition("</li>")[0]
    assert "line 2 of work 1" in words(shown)
    assert "\npassage 2</pre>" in block
    assert 'id="source-S3"' not in shown.text
    assert "✓ cited" in words(shown) and "also read" in block
    assert 'id="source-S1"' in block


async def expansion(ctx: ApiContext, query: StoredQuery) -> Expansion | None:
    return await ctx.database.once(attempts.stored, query.job_id, "expand", Expansion)


async def places(ctx: ApiContext, query: StoredQuery) -> list[int]:
    """Which passages of CONTEXT are stored now, by their places there."""
    stored = await ctx.database.once(attempts.stored, query.job_id, "consolidate", ConsolidatedContext)
    return [CONTEXT.groups.index(group) + 1 for group in stored.groups] if stored else []


async def test_an_edit_of_the_expansion_is_kept_and_what_it_changes_is_needed_and_an_invalid_one_stays_in_its_field(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery
) -> None:
    at = f"/rag/{ready.id}/inspect"
    refused = await send(
        client, await see(client, at), f"/rag/{ready.id}/expansion", expanded_queries="x" * 501, hyde_answer="N"
    )
    assert (refused.status_code, 'id="wrong-expanded_queries"' in refused.text) == (422, True)
    fields = form(refused, f"/rag/{ready.id}/expansion")
    assert (fields["expanded_queries"], fields["hyde_answer"]) == ("x" * 501, "N")
    expected = EXPANSION
    assert await expansion(ctx, ready) == expected
    edits: list[tuple[dict[str, str], dict[str, Any], tuple[str, str]]] = [
        ({"intent": "Buy a teapot"}, {"intent": "Buy a teapot"}, ("needs_retrieval", "embed")),
        (
            {"expanded_queries": "one\r\n\r\n two \r\nthree"},
            {"queries": ("one", "two", "three")},
            ("needs_embeddings", "expand"),
        ),
    ]
    for typed, changed, needs in edits:
        reply = await send(client, await see(client, at), f"/rag/{ready.id}/expansion", **typed)

        assert reply.headers["location"] == f"{at}?notice=expansion"
        expected = expected.model_copy(update={**changed, "origin": Origin.EDITED})
        assert await expansion(ctx, ready) == expected
        async with ctx.database.connection() as connection:
            (line,) = await queries.lines(connection)
            assert (line.status, list(await chain(connection, ready.job_id))[-1]) == needs
        assert "The expansion is saved." in words(await see(client, reply.headers["location"]))


@pytest.mark.parametrize(
    ("at", "order"), [((3, 1, 2), [2, 3, 1]), ((2, 2, 3), [2, 1, 3]), ((1, 2, 1), [3, 1, 2]), ((9, 2, 3), [2, 3, 1])]
)
async def test_a_manual_order_is_the_order_of_the_prompt(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery, at: tuple[int, ...], order: list[int]
) -> None:
    shown = await see(client, f"/rag/{ready.id}/inspect")

    # The form has the passages in the order of the page.
    found = form(shown, f"/rag/{ready.id}/context#context")
    in_order = [part.partition('"')[0] for part in shown.text.split('id="passage-')[1:]]
    fields = {**found, "group": in_order, "at": [str(n) for n in at]}
    reply = await client.post(f"/rag/{ready.id}/context", headers=HTML, data=fields)

    assert "<summary>A work, line 1</summary>" in shown.text, "a title that is a heading too is shown once"
    assert reply.headers["location"] == f"/rag/{ready.id}/inspect?notice=context#context"
    assert await places(ctx, ready) == order
    prompt = (await see(client, f"/rag/{ready.id}")).text
    assert [prompt.index(f"start-line={line},") for line in order] == sorted(
        prompt.index(f"start-line={line},") for line in (1, 2, 3)
    )


def test_a_cited_source_becomes_a_link_to_it_others_are_marked_and_code_cites_nothing() -> None:
    shown = answer_html("So it is [S1, S9].", ["S1"])
    assert 'href="#source-S1"' in shown
    assert '<span class="cite-unknown">S9 (not in the prompt)</span>' in shown
    assert "source-S1" not in answer_html("`[S1]`\n\n```\n[S1]\n```", ["S1"])
    external = answer_html("[a](https://elsewhere.example/?a=1&b=2)", [])
    assert 'href="https://elsewhere.example/?a=1&amp;b=2"' in external
    assert 'rel="noreferrer noopener nofollow"' in external


@pytest.mark.parametrize(
    "answer",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](https://elsewhere.example/x.png)",
        '![x](x.png "onerror=alert(1)")',
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](data:text/html,<script>alert(1)</script>)",
        "[a](vbscript:x)",
        "[a](&#106;avascript:alert(1))",
        "<javascript:alert(1)>",
        "<svg><script>alert(1)</script></svg>",
        "[a](/runs/1)",
        "[a](//elsewhere.example)",
        "[a](#main)",
        "<a href='https://elsewhere.example' onclick='alert(1)'>a</a>",
        "<style>*{display:none}</style>",
    ],
)
def test_an_answer_runs_no_script_loads_nothing_and_links_nowhere_in_ragq(answer: str) -> None:
    shown = answer_html(answer, ["S1"])

    for element in ("<script", "<img", "<svg", "<style", "<iframe", ' href="'):
        assert element not in shown
