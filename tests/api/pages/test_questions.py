"""The list of questions and its buttons."""

import httpx
import pytest

from store.database import Connection
from tests.api.pages.html import form, forms, see, send, words
from tests.services.questions.questions import WHOLE, a_question, chain, complete_stages, job_status


@pytest.mark.parametrize(("done", "button"), [(1, "Embed"), (2, "Retrieve"), (5, "Consolidate")])
async def test_an_idle_question_offers_its_next_step_and_runs_it(
    client: httpx.AsyncClient, connection: Connection, done: int, button: str
) -> None:
    query = await a_question(connection, *WHOLE[:done], until=WHOLE[done - 1])
    shown = await see(client, "/rag")

    reply = await client.post(
        f"/rag/{query.id}/steps", headers={"Accept": "text/html"}, data=form(shown, f"/rag/{query.id}/steps", button)
    )

    assert (reply.status_code, reply.headers["location"]) == (303, f"/rag#question-{query.id}")
    assert (await chain(connection, query.job_id))[WHOLE[done]] == "ready"


async def test_run_all_runs_the_remaining_steps_on_the_server(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    query = await a_question(connection, *WHOLE[:2], until="embed")
    shown = await see(client, "/rag")

    reply = await send(client, shown, f"/rag/{query.id}/run")

    assert reply.status_code == 303
    assert list(await chain(connection, query.job_id)) == list(WHOLE)
    shown = await see(client, "/rag")
    assert "2 of 8 retrieve" in words(shown)
    assert "1 question is running." in words(shown)
    assert not [of for of in forms(shown) if of.action.endswith(("/run", "/steps"))]


async def test_a_form_without_its_csrf_token_is_refused(client: httpx.AsyncClient, connection: Connection) -> None:
    query = await a_question(connection, *WHOLE[:2], until="embed")

    reply = await client.post(f"/rag/{query.id}/run", headers={"Accept": "text/html"}, data={})

    assert reply.status_code == 403
    assert await job_status(connection, query.job_id) == "succeeded"


async def test_what_was_asked_is_shown_as_text(client: httpx.AsyncClient, connection: Connection) -> None:
    query = await a_question(connection, text='<script>alert("1")</script>')
    await complete_stages(connection, query.job_id, "expand")

    shown = await see(client, "/rag")

    assert "<script>alert" not in shown.text
    assert "&lt;script&gt;alert" in shown.text
