"""The pages of sweeps, and dry runs of forks."""

import httpx
import pytest

from api.context import ApiContext
from store.runs import forks
from tests.api.pages.html import see, send, words
from tests.stages.reports.builders import labels, scores
from tests.store.forkable import finish, forkable_run
from tests.store.scored import import_labels

FORM = "/runs/1/sweeps/new"
PEOPLE = (316, 319)


@pytest.fixture
async def parent(ctx: ApiContext) -> None:
    async with ctx.database.connection() as connection:
        await import_labels(connection, dict.fromkeys(PEOPLE, labels("22222222")))
        await forkable_run(connection, dict.fromkeys(PEOPLE, scores("33333333")))


async def test_a_run_is_swept_from_its_page_and_the_points_are_compared(
    client: httpx.AsyncClient, ctx: ApiContext, parent: None
) -> None:
    page = await see(client, FORM)
    estimated = await send(client, page, FORM, stage="score", grid="RAGQ_SCORE_TEXT_CHARS=10, 20", check="true")
    assert "RAGQ_SCORE_TEXT_CHARS=20" in words(estimated) and "Nothing was stored or sent" in words(estimated)

    made = await send(client, page, FORM, stage="score", grid="RAGQ_SCORE_TEXT_CHARS=10, 20")

    address = made.headers["Location"]
    assert "Not finished yet: r2 , r3" in words(await see(client, address))
    async with ctx.database.connection() as connection:
        for run_id, digits in {2: "22222222", 3: "00000000"}.items():
            for job in await forks.parent_jobs(connection, run_id):
                await finish(connection, job.id, ("score",), scores(digits))
    found = words(await see(client, address))
    assert "Best zero-shot by item_mae_weighted: r2 ( RAGQ_SCORE_TEXT_CHARS=10 ), 0.0000; r1 has 1.0000" in found
    assert "chosen on the same subjects" in found
    image = await client.get(address.replace("/sweep?", "/sweep.svg?"))
    assert (image.status_code, image.headers["Content-Type"]) == (200, "image/svg+xml")
