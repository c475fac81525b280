"""Several runs on one page."""

import httpx

from store.database import Connection
from tests.api.pages.html import see, words
from tests.stages.reports.builders import labels, scores
from tests.store.scored import import_labels, store_scored_run


async def test_several_runs_are_compared_on_a_page(client: httpx.AsyncClient, connection: Connection) -> None:
    await import_labels(connection, {316: labels("22222222")})
    for chars, digits in ((80, "33333333"), (10, "22222222"), (20, "00000000")):
        settings = {"RAGQ_SCORE_TEXT_CHARS": chars}
        await store_scored_run(connection, {("zero_shot", 316): scores(digits)}, settings=settings)

    page = await see(client, "/runs/compare", runs="r1, r2, r3")
    text = words(page)

    assert page.status_code == 200
    assert "RAGQ_SCORE_TEXT_CHARS 80 10 20" in text
    assert "item_mae_weighted" in text and "aurc" in text
    assert "8 rows" in text
    assert 'href="/jobs/2"' in page.text
