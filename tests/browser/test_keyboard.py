"""Journeys from the keyboard alone."""

from typing import Final

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.places import addresses
from tests.browser.populate import PRESET
from tests.browser.site import Site, SiteWithWorker

pytestmark = pytest.mark.asyncio(loop_scope="session")

MOST_STOPS: Final = 600


LABEL: Final = """
() => {
  const element = document.activeElement;
  return [...(element.labels ?? []), element].map((part) => part.textContent.replace(/\\s+/g, " ").trim());
}
"""
EXPANDED: Final = """
SELECT a.output FROM queries AS q JOIN stage_attempt AS a ON a.job_id = q.job_id WHERE q.id = $1 AND a.stage = 'expand'
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


async def test_the_navigation_is_skipped_a_question_asked_and_its_passages_ordered_by_keyboard_alone(
    visit: Visit, site_with_worker: SiteWithWorker
) -> None:
    async with visit(site_with_worker) as page:
        keys = page.keyboard
        await page.goto("/rag")
        await keys.press("Tab")
        assert await page.locator(":focus").inner_text() == "Skip to the content"
        await keys.press("Enter")
        await keys.press("Tab")
        assert await page.evaluate("document.activeElement.closest('main') !== null")
        await tab_to(page, "New question")
        await keys.press("Enter")
        await page.wait_for_url("**/rag/new")
        await tab_to(page, "Question")
        await keys.type("Why is tea dark?")
        await tab_to(page, "Preset")
        await keys.type(PRESET)
        await tab_to(page, "Written by the model")
        await keys.press("ArrowUp")
        await tab_to(page, "Run every stage up to the answer")
        await tab_to(page, "Ask")
        await keys.press("Enter")
        await expect(page.locator("#state .step", has_text="generate")).to_contain_text("done")
        expand = await site_with_worker.value(EXPANDED, await site_with_worker.value("SELECT max(id) FROM queries"))
        assert expand["origin"] == "none"

        await tab_to(page, "Inspect")
        await keys.press("Enter")
        await expect(page.locator(".passage").nth(1)).to_be_visible()
        titles = await page.locator(".passage h3").all_inner_texts()
        await tab_to(page, "Place of passage 1")
        await keys.type("2")
        await tab_to(page, "Save the passages")
        await keys.press("Space")
        await expect(page.get_by_role("status").first).to_contain_text("The passages are saved")
        assert await page.locator(".passage h3").all_inner_texts() == [titles[1], titles[0], *titles[2:]]


#: A page that shows a failed question, and the label of what the focus is on.
LISTENING: Final = {"questions": "How long should tea steep?", "run-failed": "all 1", "job-failed": "validate 1"}


async def test_the_focus_is_kept_when_a_page_updates(visit: Visit, editable_site: Site) -> None:
    failed = await editable_site.value("SELECT min(id) FROM job WHERE kind = 'query' AND status = 'failed'")

    async def becomes(status: str) -> None:
        await editable_site.rows("UPDATE job SET status = $2 WHERE id = $1", failed, status)

    where = await addresses(editable_site)
    async with visit(editable_site) as page:
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
