"""The form that submits participants."""

import httpx
import pytest

from api.context import ApiContext
from store.database import Connection
from store.runs import overviews
from store.runs.overviews import RunOverview
from tests.api.pages.html import see, send, words
from tests.api.participants import store_participants

ADDRESS = "/participants/new"
ZERO_SHOT = {"modes": "zero_shot"}


@pytest.fixture(autouse=True)
async def people(connection: Connection) -> None:
    await store_participants(connection, paper_train=(304, 313), paper_test=(316, 319, 330))


async def submitted(ctx: ApiContext) -> list[RunOverview]:
    async with ctx.database.connection() as connection:
        return await overviews.overviews(connection)


async def test_a_split_is_submitted_and_its_run_opens(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    shown = await see(client, ADDRESS)

    values = {"limit": "2", "profile": "paper", "settings": "MODEL_TEMPERATURE = 0.5\r\n\r\nCONSISTENCY_ENABLED=true"}
    reply = await send(client, shown, ADDRESS, **ZERO_SHOT, **values)

    (run,) = await submitted(ctx)
    assert (reply.status_code, reply.headers["location"]) == (303, f"/runs/{run.id}")
    assert (run.jobs, run.profile, run.request["limit"]) == (2, "paper", 2)
    assert "MODEL_TEMPERATURE 0.5 0.0 option" in words(await see(client, f"/runs/{run.id}"))


async def test_an_invalid_form_shows_its_errors_and_keeps_the_input(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    for values, message in [
        ({"participants": "316"}, "Give exactly one of split and participants."),
        ({"split": "", "participants": "316, <b>"}, "Write a whole number."),
        ({"split": "", "participants": "316", "limit": "1"}, "Limit goes with split; name fewer participants instead."),
        ({"settings": "MODEL_TEMPERATURE 0.5"}, "Line 1 is not of the form NAME=VALUE"),
        ({"split": "nowhere"}, "Stored splits: paper-test, paper-train"),
    ]:
        shown = await see(client, ADDRESS)

        reply = await send(client, shown, ADDRESS, **(ZERO_SHOT | values))

        assert reply.status_code == 422
        assert message in words(reply)
        assert "<b>" not in reply.text
        if "settings" in values:
            assert f"\n{values['settings']}</textarea>" in reply.text
        assert await submitted(ctx) == []
