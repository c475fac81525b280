"""Login and logout in a browser."""

import asyncio

import pytest
from playwright.async_api import expect

from tests.browser.accessibility import findings
from tests.browser.conftest import Visit
from tests.browser.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_with_a_token_users_log_in_and_out(visit: Visit, editable_site: Site) -> None:
    made = await asyncio.to_thread(editable_site.installation.ragq, "token", "create", "laptop")
    assert made.exit_code == 0, made.stderr
    # A page that was being brought up to date when its user logged out.
    async with visit(editable_site, forgiven="401 .*/runs$") as page:
        await page.goto("/ui/runs")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
        assert await findings(page) == []
        await page.get_by_label("API token").fill("guessed")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("This token is not valid")

        await page.get_by_label("API token").fill(made.stdout.strip())
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
        assert await page.evaluate("document.cookie") == ""

        await page.get_by_role("button", name="Log out").click()
        await page.goto("/rag")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Log in")

        # As `ragq up` prints it where the machine has other users.
        await page.goto(f"/ui/login#{made.stdout.strip()}")
        await page.wait_for_url("**/rag")
        assert "ragq_" not in page.url
