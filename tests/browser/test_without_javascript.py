"""Every form works without JavaScript."""

from typing import Final

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.conftest import Visit
from tests.browser.populate import PRESET
from tests.browser.site import Site, SiteWithWorker

pytestmark = pytest.mark.asyncio(loop_scope="session")


IDLE: Final = (
    "SELECT j.status = 'succeeded' FROM queries AS q JOIN job AS j ON j.id = q.job_id ORDER BY q.id DESC LIMIT 1"
)


async def load_until(page: Page, site: Site, shown: Locator) -> None:
    """Load the page again when the newest question waits for its reader, until it shows a locator."""
    while not await shown.is_visible():
        await site.wait_until(IDLE)
        await page.reload()


async def test_forms_work_without_javascript(visit: Visit, site_with_worker: SiteWithWorker) -> None:
    async with visit(site_with_worker, java_script_enabled=False) as page:
        all_the_rest = page.get_by_role("button", name="Run all")
        answered = page.locator(".step.good", has_text="generate")
        await page.goto("/rag/new")
        await page.get_by_label("Question", exact=True).fill("Why is tea dark?")
        await page.get_by_label("Preset").select_option(PRESET)
        await page.get_by_label("None: search for the question alone").check()
        await page.get_by_label("Stop after the expansion").check()
        await page.get_by_role("button", name="Ask").click()
        await load_until(page, site_with_worker, all_the_rest)
        await all_the_rest.click()
        await load_until(page, site_with_worker, answered)

        await page.get_by_role("link", name="Inspect").click()
        await page.get_by_label("Search phrases").fill("tannin")
        await page.get_by_role("button", name="Save the expansion").click()
        await expect(page.get_by_role("status")).to_contain_text("The expansion is saved.")
        await all_the_rest.click()
        await load_until(page, site_with_worker, answered)
        titles = await page.locator(".passage h3").all_inner_texts()
        await page.get_by_label("Place of passage 1").fill("2")
        await page.get_by_role("button", name="Save the passages").click()
        await expect(page.get_by_role("status").first).to_contain_text("The passages are saved")
        assert await page.locator(".passage h3").all_inner_texts() == [titles[1], titles[0], *titles[2:]]

        await page.get_by_role("link", name="Answer and prompt").click()
        await page.get_by_label("Sources in the prompt").select_option("1")
        await page.get_by_role("button", name="Show").click()
        await page.get_by_role("button", name="Answer from 1 source").click()
        await page.wait_for_url("**/results/*")
        await expect(page.locator("li.passage")).to_have_count(1)

        await page.get_by_role("link", name="Back to the prompt").click()
        await page.get_by_label("Answer", exact=True).fill("It is *the air* [S1].")
        await page.get_by_role("button", name="Save the answer").click()
        await expect(page.locator(".answer em")).to_have_text("the air")
        await page.locator("summary", has_text="Delete").click()
        await page.get_by_role("button", name="Delete answer").click()
        await expect(page.locator(".row")).to_have_count(3)
