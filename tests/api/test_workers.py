"""The page and the resource of workers: which hang, where, since when, and what to do."""

import httpx

from api.context import ApiContext
from stack.environment import this_environment
from store.database import Connection
from store.runs import hung_workers, runs, stages, workers
from tests.api.pages.html import see, words
from tests.store.conftest import new_run

PLACE = "stages/queries/expansion_reply.py:41"


async def two_workers(connection: Connection) -> int:
    """One that computes, and one that hangs in a stage. Its job."""
    for name, pid in (("busy", 11), ("stuck", 12)):
        await workers.enroll(
            connection, name, host="node1", pid=pid, stages=["extract"], environment=this_environment()
        )
    stored = await runs.store(connection, new_run(), always_new=True)
    assert await stages.claim(connection, stored.job_ids[0], "extract", "stuck", 60)
    await hung_workers.hold(connection, "stuck", lease_s=60, hung_for_s=90, place=PLACE)
    return stored.job_ids[0]


async def test_a_worker_that_hangs_is_first_with_its_stage_and_line_and_what_to_do(
    client: httpx.AsyncClient, ctx: ApiContext
) -> None:
    async with ctx.database.connection() as connection:
        job_id = await two_workers(connection)

    stuck, busy = (await client.get("/workers")).json()["workers"]
    page = await see(client, "/workers")

    hangs = stuck["hangs"]
    assert (stuck["pid"], busy["pid"], busy["hangs"]) == (12, 11, None)
    assert (hangs["place"], hangs["stages"], 90 <= hangs["seconds"] < 600) == (PLACE, [f"j{job_id} extract"], True)
    assert "`kill -9 12` on node1" in hangs["remedy"]
    assert "blocks worker node1:12 since" in words(page)
    assert (PLACE in page.text, f'href="/jobs/{job_id}"' in page.text) == (True, True)


async def test_without_workers_the_page_says_what_starts_one(client: httpx.AsyncClient) -> None:
    assert (await client.get("/workers")).json() == {"workers": []}
    assert "ragq worker starts one" in words(await see(client, "/workers"))
