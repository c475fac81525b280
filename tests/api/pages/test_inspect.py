"""The page that shows and edits the outputs of a question."""

import httpx
import pytest

from api.context import ApiContext
from schemas.values.queries import ConsolidatedContext, Expansion, Origin
from store.questions import queries
from store.questions.queries import StoredQuery
from store.runs import attempts
from tests.api.pages.html import HTML, form, see, send, words
from tests.services.questions.questions import CONTEXT, EXPANSION, chain


async def expansion(ctx: ApiContext, query: StoredQuery) -> Expansion:
    async with ctx.database.connection() as connection:
        stored = await attempts.output(connection, query.job_id, "expand")
    assert stored is not None
    return Expansion.model_validate(stored.value)


async def places(ctx: ApiContext, query: StoredQuery) -> list[int]:
    """Which passages of CONTEXT are stored now, by their places there."""
    async with ctx.database.connection() as connection:
        stored = await attempts.output(connection, query.job_id, "consolidate")
    assert stored is not None
    return [CONTEXT.groups.index(group) + 1 for group in ConsolidatedContext.model_validate(stored.value).groups]


async def put(
    client: httpx.AsyncClient,
    page: httpx.Response,
    query: StoredQuery,
    *,
    at: tuple[int, ...] = (1, 2, 3),
    drop: tuple[int, ...] = (),
    **values: str,
) -> httpx.Response:
    """Send the form of the context, with the passages in the order of the page."""
    found = form(page, f"/rag/{query.id}/context#context")
    fields = {**found, "group": _in_order(page), "at": [str(n) for n in at], **values}
    if drop:
        fields["drop"] = [str(n) for n in drop]
    return await client.post(f"/rag/{query.id}/context", headers=HTML, data=fields)


def _in_order(page: httpx.Response) -> list[str]:
    ids = [part.partition('"')[0] for part in page.text.split('id="passage-')[1:]]
    assert ids
    return ids


@pytest.mark.parametrize(
    ("values", "part", "value"),
    [
        ({"intent": ""}, "intent", None),
        ({"intent": "critique"}, "intent", "CRITIQUE"),
        ({"intent": "Buy a teapot"}, "intent", "Buy a teapot"),
        ({"hyde_answer": ""}, "hyde_answer", ""),
        ({"queries": "one\r\n\r\n two \r\nthree"}, "queries", ("one", "two", "three")),
        ({"entities": ""}, "entities", ()),
    ],
)
async def test_an_edit_of_the_expansion_is_kept_and_what_it_changes_is_needed(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery, values: dict[str, str], part: str, value: object
) -> None:
    shown = await see(client, f"/rag/{ready.id}/inspect")

    reply = await send(client, shown, f"/rag/{ready.id}/expansion", **values)

    assert reply.headers["location"] == f"/rag/{ready.id}/inspect?notice=expansion"
    edited = await expansion(ctx, ready)
    assert edited == EXPANSION.model_copy(update={part: value, "origin": Origin.EDITED})
    async with ctx.database.connection() as connection:
        (line,) = await queries.lines(connection)
        needs = ("needs_retrieval", "embed") if part in ("intent", "entities") else ("needs_embeddings", "expand")
        assert (line.status, list(await chain(connection, ready.job_id))[-1]) == needs
    assert "The expansion is saved." in words(await see(client, reply.headers["location"]))


async def test_an_invalid_value_is_reported_at_its_field(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery
) -> None:
    shown = await see(client, f"/rag/{ready.id}/inspect")

    reply = await send(client, shown, f"/rag/{ready.id}/expansion", queries="x" * 501, hyde_answer="New.")

    assert reply.status_code == 422
    assert 'id="wrong-expanded_queries"' in reply.text
    fields = form(reply, f"/rag/{ready.id}/expansion")
    assert (fields["queries"], fields["hyde_answer"]) == ("x" * 501, "New.")
    assert await expansion(ctx, ready) == EXPANSION


@pytest.mark.parametrize(
    ("at", "order"), [((3, 1, 2), [2, 3, 1]), ((2, 2, 3), [2, 1, 3]), ((1, 2, 1), [3, 1, 2]), ((9, 2, 3), [2, 3, 1])]
)
async def test_a_manual_order_is_the_order_of_the_prompt(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery, at: tuple[int, ...], order: list[int]
) -> None:
    shown = await see(client, f"/rag/{ready.id}/inspect")

    reply = await put(client, shown, ready, at=at)

    assert reply.headers["location"] == f"/rag/{ready.id}/inspect?notice=context#context"
    assert await places(ctx, ready) == order
    prompt = (await see(client, f"/rag/{ready.id}")).text
    assert [prompt.index(f"start-line={line},") for line in order] == sorted(
        prompt.index(f"start-line={line},") for line in (1, 2, 3)
    )
