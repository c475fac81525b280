"""The focus of the keyboard: on the content, and where it was when a page updates."""

from typing import Final

import pytest
from playwright.async_api import Page

from tests.browser.conftest import Visit
from tests.browser.places import addresses
from tests.browser.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

MOST_STOPS: Final = 600


LABEL: Final = """
() => {
  const element = document.activeElement;
  return [...(element.labels ?? []), element].map((part) => part.textContent.replace(/\\s+/g, " ").trim());
}
"""


async def is_on(page: Page, label: str) -> bool:
    """The focus is on what has a label, or one that ends like this."""
    return any(found.endswith(label) for found in await page.evaluate(LABEL))


async def tab_to(page: Page, label: str) -> None:
    for _ in range(MOST_STOPS):
        await page.keyboard.press("Tab")
        if await is_on(page, label):
            return
    raise AssertionError(f"The focus does not come to {label!r}.")


#: A page that shows a failed question, and the label of what the focus is on.
LISTENING: Final = {"questions": "How long should tea steep?", "run-failed": "all 1", "job-failed": "validate 1"}


async def test_the_navigation_is_skipped_and_the_focus_kept_when_a_page_updates(
    visit: Visit, editable_site: Site
) -> None:
    failed = await editable_site.value("SELECT min(id) FROM job WHERE kind = 'query' AND status = 'failed'")

    async def becomes(status: str) -> None:
        await editable_site.rows("UPDATE job SET status = $2 WHERE id = $1", failed, status)

    where = await addresses(editable_site)
    async with visit(editable_site) as page:
        await page.goto(where["questions"])
        await page.keyboard.press("Tab")
        assert await is_on(page, "Skip to the content")
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.closest('main') !== null")
        for name, label in LISTENING.items():
            await becomes("failed")
            await page.goto(where[name])
            await tab_to(page, label)

            # Events before the page listens are lost, so the change is repeated.
            while not await page.locator(".badge", has_text="cancelled").count():
                await becomes("paused")
                await becomes("cancelled")
                await page.wait_for_timeout(200)

            assert await is_on(page, label), name
