"""The list of questions and its buttons."""

import httpx
import pytest

from store.database import Connection
from tests.api.pages.html import HTML, form, forms, see, words
from tests.services.questions.questions import WHOLE, a_question, chain


@pytest.mark.parametrize(("done", "button"), [(1, "Embed"), (2, "Retrieve"), (5, "Consolidate")])
async def test_an_idle_question_offers_its_next_step_and_runs_it(
    client: httpx.AsyncClient, connection: Connection, done: int, button: str
) -> None:
    query = await a_question(connection, *WHOLE[:done], until=WHOLE[done - 1])
    shown = await see(client, "/rag")

    address = f"/rag/{query.id}/steps"
    reply = await client.post(address, headers=HTML, data=form(shown, address, button))

    assert (reply.status_code, reply.headers["location"]) == (303, f"/rag#question-{query.id}")
    assert (await chain(connection, query.job_id))[WHOLE[done]] == "ready"


async def test_run_all_runs_the_remaining_steps_on_the_server(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    query = await a_question(connection, *WHOLE[:2], until="embed")
    shown = await see(client, "/rag")

    address = f"/rag/{query.id}/steps"
    reply = await client.post(address, headers=HTML, data=form(shown, address, "Run all"))

    assert reply.status_code == 303
    assert list(await chain(connection, query.job_id)) == list(WHOLE)
    shown = await see(client, "/rag")
    assert "2 of 8 retrieve" in words(shown)
    assert "1 question is running." in words(shown)
    assert not [of for of in forms(shown) if of.action.endswith("/steps")]


async def test_the_next_step_follows_from_the_state_of_the_job(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    query = await a_question(connection, *WHOLE[:2], until="embed")
    for status, buttons in [
        ("failed", ["Retry", "Run all"]),
        ("poisoned", ["Retry", "Run all"]),
        ("paused", ["Resume"]),
        ("cancelled", ["Retrieve", "Run all"]),
        ("interrupted", []),
    ]:
        await connection.execute("UPDATE job SET status = $2 WHERE id = $1", query.job_id, status)

        shown = await see(client, "/rag")

        assert [of.label.strip() for of in forms(shown) if of.action.endswith("/steps")] == buttons
