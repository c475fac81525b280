"""The form that submits participants."""

import httpx
import pytest

from api.context import ApiContext
from store.runs import overviews
from store.runs.overviews import RunOverview
from tests.api.pages.html import see, send, words
from tests.api.participants import store_participants

ADDRESS = "/participants/new"
ZERO_SHOT = {"modes": "zero_shot"}


@pytest.fixture(autouse=True)
async def people(ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        await store_participants(connection, paper_train=(304, 313), paper_test=(316, 319, 330))


async def submitted(ctx: ApiContext) -> list[RunOverview]:
    async with ctx.database.connection() as connection:
        return await overviews.overviews(connection)


async def test_the_form_offers_splits_with_their_sizes_and_the_test_split_first(client: httpx.AsyncClient) -> None:
    shown = await see(client, ADDRESS)

    assert "paper-train (2 participants)" in words(shown)
    assert '<option value="paper-test" selected>paper-test (3 participants)' in shown.text
    assert "No index is built yet. `ragq index references --split paper-train` builds one." in words(shown)


async def test_without_any_split_the_form_names_the_command_that_stores_them(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    async with ctx.database.connection() as connection:
        await connection.execute("DELETE FROM split")

    assert "ragq import participants DIR" in words(await see(client, ADDRESS))


async def test_a_split_is_submitted_and_its_run_opens(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    shown = await see(client, ADDRESS)

    values = {"limit": "2", "profile": "paper", "settings": "MODEL_TEMPERATURE = 0.5\r\n\r\nCONSISTENCY_ENABLED=true"}
    reply = await send(client, shown, ADDRESS, **ZERO_SHOT, **values)

    (run,) = await submitted(ctx)
    assert (reply.status_code, reply.headers["location"]) == (303, f"/runs/{run.id}")
    assert (run.jobs, run.profile, run.request["limit"]) == (2, "paper", 2)
    assert "MODEL_TEMPERATURE 0.5 0.0 option" in words(await see(client, f"/runs/{run.id}"))


async def test_participants_by_number_are_submitted(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    shown = await see(client, ADDRESS)

    await send(client, shown, ADDRESS, split="", participants="330, 316", **ZERO_SHOT)

    (run,) = await submitted(ctx)
    assert run.request["participants"] == [330, 316]


async def test_the_same_work_again_opens_its_run_and_says_so(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    first = await send(client, await see(client, ADDRESS), ADDRESS, **ZERO_SHOT)
    again = await send(client, await see(client, ADDRESS), ADDRESS, **ZERO_SHOT)
    other = await send(client, await see(client, ADDRESS), ADDRESS, **ZERO_SHOT, always_new="true")

    assert again.headers["location"] == first.headers["location"] + "?existing=true"
    assert "The same work was submitted before" in words(await see(client, again.headers["location"]))
    assert other.headers["location"] not in (first.headers["location"], again.headers["location"])
    assert len(await submitted(ctx)) == 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"split": ""}, "Choose a split, or write the numbers"),
        ({"participants": "316"}, "Choose a split, or write the numbers"),
        ({"split": "", "participants": "316, <b>"}, "Write whole numbers"),
        ({"split": "", "participants": "9999999999"}, "The largest number is 2147483647"),
        ({"split": "", "participants": "316", "limit": "1"}, "A limit goes with a split"),
        ({"limit": "0"}, "Write one whole number from 1 up"),
        ({"settings": "MODEL_TEMPERATURE 0.5"}, "Line 1 is not of the form NAME=VALUE"),
        ({"settings": "MODEL_TEMPERATUR=0.5"}, "did you mean MODEL_TEMPERATURE?"),
        ({"split": "nowhere"}, "Stored splits: paper-test, paper-train"),
        ({"modes": "few_shot"}, "ragq index references"),
        ({"modes": "few_shot", "references": "nowhere"}, "neither a reference index nor a split"),
    ],
)
async def test_an_invalid_form_shows_its_errors_and_keeps_the_input(
    client: httpx.AsyncClient, ctx: ApiContext, values: dict[str, str], message: str
) -> None:
    shown = await see(client, ADDRESS)

    reply = await send(client, shown, ADDRESS, **(ZERO_SHOT | values))

    assert reply.status_code == 422
    assert message in words(reply)
    assert "<b>" not in reply.text
    if "settings" in values:
        assert f"\n{values['settings']}</textarea>" in reply.text
    assert await submitted(ctx) == []


async def test_limits_are_given_in_the_form_and_shown_with_the_run(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    shown = await see(client, ADDRESS)

    await send(client, shown, ADDRESS, **ZERO_SHOT, max_failures="10 %", max_llm_calls="5 000", max_tokens="")

    (run,) = await submitted(ctx)
    assert "stops at 10% failed jobs; 0 of 5000 language model calls" in words(await see(client, f"/runs/{run.id}"))


async def test_a_limit_that_is_none_is_shown_beside_its_field(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    reply = await send(client, await see(client, ADDRESS), ADDRESS, **ZERO_SHOT, max_llm_calls="a few")

    assert reply.status_code == 422
    assert "Write a number of calls from 1." in words(reply)
    assert 'value="a few"' in reply.text
    assert await submitted(ctx) == []
