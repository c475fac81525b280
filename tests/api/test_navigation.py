"""The sections that every page lists."""

import re

import httpx
import pytest

from store.database import Connection
from tests.api.pages.example_runs import participant_run
from tests.api.pages.html import see


def sections(page: httpx.Response) -> dict[str, bool]:
    """The address of each section, and whether it is the current one."""
    inside = page.text.partition('<nav aria-label="Pages">')[2].partition("</nav>")[0]
    return {
        address: 'aria-current="true"' in rest for address, rest in re.findall(r'<a href="([^"]*)"([^>]*)>', inside)
    }


@pytest.mark.parametrize("accepted", ["*/*", "text/html", "application/json"])
async def test_the_root_leads_every_client_to_the_questions(client: httpx.AsyncClient, accepted: str) -> None:
    for method in ("GET", "HEAD"):
        root = await client.request(method, "/", headers={"Accept": accepted})
        assert (root.status_code, root.headers["location"]) == (303, "/rag")

    shown = await client.get("/rag", headers={"Accept": accepted})

    assert (shown.status_code, "<h1>Questions</h1>" in shown.text) == (200, True)


async def test_the_section_of_a_page_is_marked(client: httpx.AsyncClient, connection: Connection) -> None:
    shown = await participant_run(connection)
    for address, section in (
        ("/rag/new", "/rag"),
        (f"/runs/{shown.run_id}", "/runs"),
        (f"/jobs/{shown.succeeded}", "/runs"),
        ("/participants/new", "/participants"),
        ("/works/new", "/corpora"),
    ):
        marked = [path for path, is_current in sections(await see(client, address)).items() if is_current]
        assert marked == [section], address
