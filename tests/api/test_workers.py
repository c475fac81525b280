"""The page and the resource of workers."""

import httpx

from stack.home import this_environment
from store.database import Connection
from store.runs import workers
from tests.api.pages.html import see, words


async def test_the_workers_that_run_are_listed_with_their_stages(
    client: httpx.AsyncClient, connection: Connection
) -> None:
    for name, pid in (("first", 11), ("second", 12)):
        await workers.enroll(
            connection,
            name,
            host="node1",
            pid=pid,
            stages=["extract"],
            environment=this_environment(),
            servers={},
            concurrency=1,
            broker="broker",
        )

    listed = (await client.get("/workers")).json()

    assert [(one["host"], one["pid"], one["stages"]) for one in listed] == [
        ("node1", 11, ["extract"]),
        ("node1", 12, ["extract"]),
    ]
    assert "node1:12 extract" in words(await see(client, "/workers"))
