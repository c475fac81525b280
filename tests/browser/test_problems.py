"""The page for an unknown address."""

import pytest

from tests.browser.conftest import Visit
from tests.browser.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_an_unknown_address_shows_a_page_with_a_link_back(visit: Visit, read_only_site: Site) -> None:
    async with visit(read_only_site) as page:
        reply = await page.goto("/nowhere")

        assert reply is not None and reply.status == 404
        assert await page.get_by_role("heading", level=1).inner_text() == "Not Found"
        assert await page.get_by_role("link", name="All questions").get_attribute("href") == "/rag"
