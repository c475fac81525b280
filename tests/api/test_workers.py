"""The page and the resource of workers."""

import httpx

from store.database import Connection
from tests.api.pages.html import see, words
from tests.store.enrolled import enroll


async def test_the_workers_that_run_are_listed_with_their_stages(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    for name, pid in (("first", 11), ("second", 12)):
        await enroll(connection, "extract", name=name, host="node1", pid=pid)

    listed = (await client.get("/workers")).json()

    assert [(one["host"], one["pid"], one["stages"]) for one in listed] == [
        ("node1", 11, ["extract"]),
        ("node1", 12, ["extract"]),
    ]
    assert "node1:12 extract" in words(await see(client, "/workers"))
