"""Failures are shown on the pages and repaired from them."""

import asyncio
from typing import Final

import pytest
from playwright.async_api import Page, expect

from tests.browser.chromium import LOST_CONNECTION
from tests.browser.conftest import Visit
from tests.browser.populate import PRESET
from tests.browser.site import SiteWithWorker
from tests.scripted_ollama import ACCEPT, ScriptedModel, ScriptedOllama, ScriptedReply

pytestmark = pytest.mark.asyncio(loop_scope="session")

UNREAD: Final = """
SELECT r.id, r.settings -> 'validation.model' ->> 'value' AS model
FROM run AS r JOIN job AS j ON j.run_id = r.id JOIN stage_run AS s ON s.job_id = j.id
WHERE s.status = 'failed' AND s.stage = 'validate'
"""

KEEP: Final = "window.kept = true"


async def ask(page: Page, question: str, preset: str) -> None:
    """Ask a question without expansion, up to the answer; opens its page."""
    await page.goto("/rag/new")
    await page.get_by_label("Question", exact=True).fill(question)
    await page.get_by_label("Preset").select_option(preset)
    await page.get_by_label("None: search for the question alone").check()
    await page.get_by_role("button", name="Ask").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(question)
    await page.evaluate(KEEP)


async def was_not_loaded_again(page: Page) -> bool:
    kept: bool = await page.evaluate("window.kept === true")
    return kept


async def test_a_failed_validation_is_shown_and_retried_from_the_page(
    visit: Visit, site_with_worker: SiteWithWorker, ollama: ScriptedOllama
) -> None:
    judge = ollama.model(lambda prompt: ScriptedReply("I would accept this."))
    values = ("validation.enabled=true", f"validation.model={judge.name}")
    made = await asyncio.to_thread(
        site_with_worker.installation.ragq, "preset", "create", "Judged", "--from", PRESET, *values
    )
    assert made.exit_code == 0, made.stderr
    async with visit(site_with_worker) as page:
        await ask(page, "Why does tea turn dark?", "Judged")
        await expect(page.locator("#state .problem")).to_contain_text("Stage validate failed: The model's reply cannot")
        assert await was_not_loaded_again(page)

        await page.get_by_role("link", name="Attempts", exact=True).click()
        await page.locator("summary", has_text="Details (may contain").click()
        await expect(page.get_by_text("I would accept this.").first).to_be_visible()

        judge.answer = lambda prompt: ScriptedReply(ACCEPT)
        await page.get_by_role("link", name="Its question").click()
        await page.evaluate(KEEP)
        await page.get_by_role("button", name="Retry").click()
        await expect(page.locator("#state .step", has_text="generate")).to_contain_text("done")
        await expect(page.locator("#state .step", has_text="validate")).to_contain_text("attempt 2")
        await expect(page.locator("#state .problem")).to_have_count(0)


async def test_a_run_is_retried_from_its_page(
    visit: Visit, site_with_worker: SiteWithWorker, ollama: ScriptedOllama
) -> None:
    ((run_id, model),) = [tuple(row.values()) for row in await site_with_worker.rows(UNREAD)]
    ollama.models[model].answer = lambda prompt: ScriptedReply(ACCEPT)
    async with visit(site_with_worker) as page:
        await page.goto(f"/ui/runs/{run_id}")
        await expect(page.locator(".row", has_text="Stage validate, attempt 1")).to_be_visible()
        await page.get_by_role("button", name="Retry j").click()

        await expect(page.locator("#live .badge", has_text="succeeded")).to_be_visible()
        await expect(page.locator(".progress-line")).to_contain_text("Finished")
    async with visit(site_with_worker) as page:
        await page.goto("/rag?status=needs_embeddings")
        row = page.locator(".row", has_text="What holds the deck of a long bridge?")
        await row.get_by_role("button", name="Retry").click()
        await expect(row.locator(".badge")).to_contain_text("needs consolidation")


async def test_a_page_continues_by_itself_after_its_worker_was_killed(
    visit: Visit, site_with_worker: SiteWithWorker, writer: ScriptedModel
) -> None:
    writer.answer = lambda prompt: ScriptedReply(delay_s=600)
    async with visit(site_with_worker) as page:
        await ask(page, "How does a leaf turn brown?", PRESET)
        generate = page.locator("#state .step", has_text="generate")
        await expect(generate).to_contain_text("running")
        run = await page.context.new_page()
        await run.goto(await page.locator('.facts a[href^="/ui/runs/"]').get_attribute("href") or "")
        cell = run.locator("#grid .badge", has_text="running").first
        await expect(cell).to_be_visible()
        await run.evaluate(KEEP)

        site_with_worker.worker.kill()
        writer.answer = lambda prompt: ScriptedReply("It is the air [S1].")
        await asyncio.to_thread(site_with_worker.installation.start_worker)

        await expect(generate).to_contain_text("done")
        await expect(generate).to_contain_text("attempt 2")
        await expect(run.locator("#live .badge", has_text="succeeded")).to_be_visible()
        assert await was_not_loaded_again(page) and await was_not_loaded_again(run)


async def test_a_page_reconnects_to_its_server(visit: Visit, site_with_worker: SiteWithWorker) -> None:
    async with visit(site_with_worker, forgiven=LOST_CONNECTION) as page:
        await page.goto("/rag")
        await page.evaluate(KEEP)
        row = page.locator(".row", has_text="Does the weight of a pendulum change its swing?")
        await expect(row.get_by_role("button", name="Retrieve")).to_be_visible()

        await asyncio.to_thread(site_with_worker.start_again)
        query_id = await site_with_worker.value("SELECT min(id) FROM queries")
        await asyncio.to_thread(
            site_with_worker.installation.ragq, "query", "run", str(query_id), "--until", "consolidate"
        )

        await expect(row.locator(".badge")).to_contain_text("ready")
        assert await was_not_loaded_again(page)
