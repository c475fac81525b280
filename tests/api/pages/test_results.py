"""The answers to a question."""

import httpx

from api.context import ApiContext
from services.questions.edits import answer
from store.questions.queries import StoredQuery
from tests.api.pages.html import see, words

ANSWER = "It is **oxygen** [S2], not [S9].\n\n<script>alert(1)</script>"


async def answered(ctx: ApiContext, query: StoredQuery, text: str = ANSWER, top_n: int | None = 2) -> int:
    async with ctx.database.connection() as connection:
        return (await answer(connection, query.id, text, top_n=top_n))[0]


async def test_a_citation_links_to_the_passage_of_the_prompt(
    client: httpx.AsyncClient, ctx: ApiContext, ready: StoredQuery
) -> None:
    result_id = await answered(ctx, ready)

    shown = await see(client, f"/rag/{ready.id}/results/{result_id}")

    assert '<a class="cite" href="#source-S2"' in shown.text
    block = shown.text.partition('id="source-S2"')[2]
    assert "[S2] A work › Colour</h3>" in block
    assert '<a href="/works/1/original#page=12"><strong>pages 12 to 13</strong></a>' in block.partition("</li>")[0]
    assert "line 2 of work 1" in words(shown)
    assert "\npassage 2</pre>" in block
    assert 'id="source-S3"' not in shown.text
    assert "✓ cited" in words(shown) and "also read" in block
    assert 'id="source-S1"' in block
