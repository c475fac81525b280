"""An answer is shown while a model writes it."""

import asyncio

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.browser.populate import PRESET
from tests.browser.site import SiteWithWorker
from tests.browser.test_failures import ask, was_not_loaded_again
from tests.scripted_ollama import ScriptedModel, ScriptedReply

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_an_answer_grows_on_the_page_and_begins_anew_after_its_worker_was_killed(
    visit: Visit, site_with_worker: SiteWithWorker, writer: ScriptedModel
) -> None:
    writer.answer = lambda prompt: ScriptedReply("Air " * 2000, piece_delay_s=0.05)
    async with visit(site_with_worker) as page:
        await ask(page, "Which gas turns a leaf brown?", PRESET)
        text, status = page.locator("#so-far pre"), page.locator("#so-far [role=status]")
        await expect(text).to_contain_text("Air Air Air Air")
        await expect(status).to_contain_text("Not stored yet")
        await expect(page.locator("#so-far a")).to_have_count(0)

        site_with_worker.worker.kill()
        writer.answer = lambda prompt: ScriptedReply("It is the oxygen [S1].", piece_delay_s=0.3)
        await asyncio.to_thread(site_with_worker.installation.start_worker)

        await expect(status).to_contain_text("Attempt 2 writes it from the beginning.")
        await expect(text).to_have_text("It is the oxygen [S1].")
        assert await was_not_loaded_again(page)
        await page.locator("#so-far").get_by_role("link", name="with its sources").click()
        await expect(page.locator(".answer")).to_contain_text("It is the oxygen")
    assert await site_with_worker.value("SELECT count(*) FROM answer_piece") == 0


async def test_an_answer_that_breaks_off_is_taken_away_from_the_page(
    visit: Visit, site_with_worker: SiteWithWorker, writer: ScriptedModel
) -> None:
    writer.answer = lambda prompt: ScriptedReply("Half of an answer", hang_up=True, piece_delay_s=1.5)
    async with visit(site_with_worker) as page:
        await ask(page, "Which leaf is the brownest?", PRESET)
        await expect(page.locator("#so-far pre")).to_contain_text("Half")

        await expect(page.locator("#so-far [role=status]")).to_contain_text(
            "There is no answer: stage generate failed."
        )
        await expect(page.locator("#so-far pre")).to_be_hidden()
        await expect(page.locator("#state .problem")).to_contain_text("Stage generate failed")
        assert "Half" not in await page.locator("#so-far").inner_text()
