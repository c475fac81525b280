"""The page of a question: its prompt and its answers."""

import httpx
import pytest

from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery
from tests.api.pages.html import see, send
from tests.services.questions.questions import WHOLE, complete_stages

READY = WHOLE[:6]
OTHER_PASSAGES = (
    "UPDATE stage_attempt SET output = jsonb_set(output, '{groups,0,chunk_ids}', '[4]') WHERE output ? 'groups'"
)


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
    for values, problem in [
        ("retrieval.dense_limit", "is not of the form NAME=VALUE"),
        ("retrieval.dense_limit=1000", "retrieval.dense_limit"),
        ("no.such=1", "is not a value of a preset"),
    ]:
        shown = await see(client, f"/rag/{ready.id}")

        reply = await send(client, shown, f"/rag/{ready.id}/again", values=values)

        assert reply.status_code == 422
        assert problem in reply.text and values in reply.text
