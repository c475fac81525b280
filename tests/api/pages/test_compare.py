"""The comparison of two runs as a page."""

import httpx
import pytest

from api.context import ApiContext
from services.runs import change_run
from tests.api.pages.example_runs import question_run
from tests.api.pages.html import see, words
from tests.cli.test_diff import two_runs


@pytest.fixture
async def pair(ctx: ApiContext) -> tuple[int, int]:
    """Two scored runs; the second has a name."""
    async with ctx.database.connection() as connection:
        cold, hot = await two_runs(connection)
        await change_run(connection, hot, {"name": "Hot <i>"})
    return cold, hot


async def test_metrics_settings_failures_and_items_are_compared(
    client: httpx.AsyncClient, pair: tuple[int, int]
) -> None:
    cold, hot = pair
    text = words(await see(client, "/runs/compare", a=str(cold), b="hot <I>"))
    assert f"r{hot} zero-shot − r{cold} zero-shot" in text
    assert "1 participant scored by both" in text
    assert "item mae weighted 1.000 0.000 -1.000 too few 1" in text
    assert "MODEL_TEMPERATURE 0.0 0.5" in text
    assert "316 NoInterest 2 1 1 -1" in text
    assert "316 Depressed 1 N/A 0" in text
    assert f"Participants that failed in r{hot} zero-shot alone : 319" in text
    assert "1 lost, 0 gained, 1 changed" in text


async def test_what_cannot_be_compared_is_refused_with_the_form(
    client: httpx.AsyncClient, ctx: ApiContext, pair: tuple[int, int]
) -> None:
    async with ctx.database.connection() as connection:
        query = await question_run(connection)
    for asked, problem in (
        ({"a": "r1", "b": "no such name"}, "neither the number nor the name of a run"),
        ({"a": str(pair[0]), "b": str(query.run_id)}, "are of two kinds"),
        ({"a": str(pair[0]), "b": str(pair[1]), "mode": "few_shot"}, "has no jobs in mode few_shot"),
        ({"a": str(pair[0]), "b": str(pair[1]), "other_mode": "few_shot"}, "Choose the mode of A too."),
    ):
        page = await see(client, "/runs/compare", **asked)
        assert (page.status_code, problem in page.text) == (422, True), asked
        assert 'action="/runs/compare"' in page.text
