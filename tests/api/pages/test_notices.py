"""What restricts the results of a run is shown with them, on every page that shows them."""

from html import unescape

import httpx

from store.database import Connection
from tests.api.pages.html import see, words
from tests.store.noticed import NOTICES, noticed_run


async def test_every_notice_stands_with_the_results(client: httpx.AsyncClient, connection: Connection) -> None:
    assert await noticed_run(connection) == 1
    for address in ["/runs/1", "/jobs/1"]:
        shown = unescape(words(await see(client, address)))

        assert [notice for notice in NOTICES if notice not in shown] == []
