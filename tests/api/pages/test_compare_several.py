"""Several runs on one page, two jobs side by side, and both over REST."""

import httpx
import pytest

from api.context import ApiContext
from store.references import interviews
from store.references.interviews import NewSplit
from store.runs import forks
from tests.api.pages.html import form, see, send, words
from tests.stages.reports.builders import labels, scores
from tests.store.forkable import finish, forkable_run
from tests.store.scored import import_labels


@pytest.fixture
async def runs(client: httpx.AsyncClient, ctx: ApiContext) -> list[int]:
    """A run and two forks of it with other scores."""
    async with ctx.database.connection() as connection:
        await import_labels(connection, {316: labels("22222222")})
        await forkable_run(connection, {316: scores("33333333")})
    for chars, digits in ((10, "22222222"), (20, "00000000")):
        body = {"stage": "score", "settings": {"RAGQ_SCORE_TEXT_CHARS": chars}}
        run_id = (await client.post("/runs/1/fork", json=body)).json()["run_id"]
        async with ctx.database.connection() as connection:
            for job in await forks.parent_jobs(connection, run_id):
                await finish(connection, job.id, ("score",), scores(digits))
    return [1, 2, 3]


async def test_several_runs_are_compared_on_a_page(client: httpx.AsyncClient, runs: list[int]) -> None:
    page = await see(client, "/runs/compare/several", runs="r1, r2, r3")
    text = words(page)

    assert page.status_code == 200
    assert "RAGQ_SCORE_TEXT_CHARS 80 10 20" in text
    assert "item_mae_weighted" in text and "aurc" in text
    assert "8 movements" in text
    assert 'href="/jobs/1/beside/2"' in page.text
    assert 'href="/runs/1/compare.csv?other=2&amp;other=3"' in page.text


async def test_a_split_is_chosen_from_those_that_are_stored(
    client: httpx.AsyncClient, ctx: ApiContext, runs: list[int]
) -> None:
    async with ctx.database.connection() as connection:
        split = NewSplit(name="paper-test", csv_hash="c", ids_hash="i", participant_ids=[316])
        await interviews.keep_splits(connection, "data", [split])

    page = await see(client, "/runs/compare/several", runs="r1,r2", split="paper-test")

    assert (page.status_code, form(page, "/runs/compare/several")["split"]) == (200, "paper-test")


@pytest.mark.parametrize(
    ("asked", "words_shown"), [("r1", "2 to 50 runs"), ("r1,nobody", "neither the number nor the name")]
)
async def test_what_cannot_be_compared_is_shown(
    client: httpx.AsyncClient, runs: list[int], asked: str, words_shown: str
) -> None:
    page = await see(client, "/runs/compare/several", runs=asked)

    assert page.status_code == 422
    assert words_shown in words(page)


async def test_two_jobs_are_shown_side_by_side_with_what_differs(client: httpx.AsyncClient, runs: list[int]) -> None:
    page = await see(client, "/jobs/1/beside/2")
    text = words(page)

    assert "job 2 was forked from job 1" in text
    assert text.count("Shared: job 2 has the output of job 1.") == 2
    assert "<del>3</del>" in page.text and "<ins>2</ins>" in page.text
    assert (await see(client, "/jobs/1/beside/99")).status_code == 404


async def test_several_runs_are_compared_over_rest(client: httpx.AsyncClient, runs: list[int]) -> None:
    (found,) = (await client.get("/runs/1/compare", params={"other": [2, 3]})).json()
    csv = await client.get("/runs/1/compare.csv", params={"other": [2, 3]})

    assert (found["runs"], found["comparisons"]) == (["r1", "r2", "r3"], 2)
    assert csv.text.startswith("run,baseline_run,mode")
    assert (await client.get("/runs/1/compare", params={"other": 99})).status_code == 404
    assert (await client.get("/runs/1/compare")).status_code == 422


async def test_a_submission_is_estimated_on_its_page_and_over_rest(client: httpx.AsyncClient, ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        await import_labels(connection, {316: labels("2")})
    page = await see(client, "/participants/new")
    fields = {"split": "", "participants": "316", "modes": "zero_shot", "check": "true"}

    shown = await send(client, page, "/participants/new", **fields)
    found = await client.post("/participants/runs/estimate", json={"participants": [316], "modes": ["zero_shot"]})

    assert form(page, "/participants/new", "Dry run")
    assert "Nothing was stored or sent." in words(shown)
    assert (found.status_code, found.json()["jobs"], found.json()["modes"]) == (200, 1, {"zero_shot": 1})
    async with ctx.database.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM run") == 0
