"""A question from form to answers through the pages, by clicks and keys."""

import asyncio
import json
import re
from typing import Final

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.conftest import Visit
from tests.browser.populate import ANSWER, EXPANSION, PRESET
from tests.browser.site import Site
from tests.scripted_ollama import ScriptedModel

pytestmark = pytest.mark.asyncio(loop_scope="session")

CLIPBOARD: Final = ("clipboard-read", "clipboard-write")
QUESTION: Final = "Why is black tea dark?"
PASTED: Final = "The leaf is **bruised** [S1], and heat ends it [S2]. Nobody knows [S7]."

STAGE_OUTPUT: Final = """
SELECT a.output FROM queries AS q
JOIN stage_run AS s ON s.job_id = q.job_id AND s.stage = $2 AND s.status = 'done'
JOIN stage_attempt AS a ON a.job_id = s.job_id AND a.stage = s.stage AND a.number = s.attempts
WHERE q.id = $1
"""


async def ask_with_a_pasted_expansion(page: Page) -> int:
    """From the list to the page of a new question whose expansion was pasted. The question's number."""
    await page.goto("/rag")
    await page.get_by_role("link", name="New question").click()
    await page.get_by_label("Question", exact=True).fill(QUESTION)
    await page.get_by_label("Preset").select_option(PRESET)
    await page.get_by_label("Paste the reply of an external model").check()
    await page.get_by_role("button", name="Show the prompt").click()
    await page.get_by_role("button", name="Copy the prompt").click()
    assert QUESTION in await page.evaluate("navigator.clipboard.readText()")

    await page.get_by_label("Reply", exact=True).fill("I would rather talk.")
    await page.get_by_role("button", name="Ask").click()
    await expect(page.locator("#wrong-reply")).to_be_visible()
    await expect(page.get_by_label("Reply", exact=True)).to_have_value("I would rather talk.")
    await expect(page.get_by_label("Question", exact=True)).to_have_value(QUESTION)

    await page.get_by_label("Reply", exact=True).fill(json.dumps(EXPANSION))
    await page.get_by_label("Stop after the expansion").check()
    await page.get_by_role("button", name="Ask").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(QUESTION)
    found = re.search(r"/rag/(\d+)$", page.url)
    assert found is not None, page.url
    return int(found[1])


async def run_all(page: Page) -> None:
    """Let the server run the remaining stages, and wait for the page to update without a reload.

    Replies are slow, so that the last change is told of while an earlier one is loaded.
    """

    async def reply_slowly(route: Route) -> None:
        response = await route.fetch()
        await asyncio.sleep(1.5)
        await route.fulfill(response=response)

    await page.get_by_role("button", name="Run all").click()
    await page.route("**/inspect", reply_slowly)
    await expect(page.locator("#state .step", has_text="generate")).to_contain_text("done")
    await page.unroute_all(behavior="wait")


async def labels_of(page: Page) -> list[str]:
    """The sources of the prompt that is shown, as it names them."""
    return re.findall(r"^\[S\d+\] Source: .*$", await page.locator("#prompt").inner_text(), re.MULTILINE)


async def test_a_question_is_asked_edited_and_answered_on_the_pages(
    visit: Visit, site_with_worker: Site, writer: ScriptedModel
) -> None:
    async with visit(site_with_worker, permissions=CLIPBOARD) as page:
        query_id = await ask_with_a_pasted_expansion(page)
        at = f"/rag/{query_id}"
        await run_all(page)
        assert writer.calls == 1

        # An edit lists what it makes stale, and dependent stages run again.
        await page.get_by_role("link", name="Inspect").click()
        await expect(page.locator("#stale")).to_contain_text(re.compile(r"discards 4 vectors, \d+ retrieved chunks"))
        await page.get_by_label("Intent").fill("DEFINITION")
        await page.get_by_label("Search phrases").fill("colour of tea\ntannin")
        await page.get_by_role("button", name="Save the expansion").click()
        await expect(page.get_by_role("status").first).to_contain_text("The expansion is saved.")
        await expect(page.locator("#state")).to_contain_text("needs embeddings")
        await expect(page.locator("#context")).to_contain_text("There is no consolidated context")
        await run_all(page)
        embedded = (await site_with_worker.value(STAGE_OUTPUT, query_id, "embed"))["texts"]
        assert embedded == ["original", "mqe", "mqe", "hyde"]

        # The order of the passages is that of the prompt; what was removed is not in it.
        await page.reload()
        titles = await page.locator(".passage h3").all_inner_texts()
        await page.get_by_label("Place of passage 1").fill("2")
        await page.get_by_label("Remove passage 3").check()
        await page.get_by_role("button", name="Save the passages").click()
        await expect(page.get_by_role("status").first).to_contain_text("The passages are saved")
        expected = [titles[1], titles[0], *titles[3:]]
        assert await page.locator(".passage h3").all_inner_texts() == expected
        await page.get_by_role("link", name="Answer and prompt").click()
        # The script that submits a changed selection is loaded by then.
        await page.wait_for_load_state()
        shown = await labels_of(page)
        # The prompt names a heading that is the title again.
        sources = [re.sub(r"^\[S\d+\] Source: (?:(.+?) > (?=\1 [>|]))?| \| .*$", "", label) for label in shown]
        assert sources == [title.replace(" › ", " > ") for title in expected[:5]]

        # The chosen number of sources, in the prompt of the model and in the stored attempt.
        await page.get_by_label("Sources in the prompt").select_option("2")
        await expect(page.get_by_role("button", name="Answer from 2 sources")).to_be_visible()
        assert await labels_of(page) == shown[:2]
        # The script that copies is loaded by then.
        await page.wait_for_load_state()
        await page.get_by_role("button", name="Copy the prompt").click()
        await expect(page.locator("[data-copy] + [role=status]")).to_have_text("Copied.")
        copied = await page.evaluate("navigator.clipboard.readText()")
        await page.get_by_role("button", name="Answer from 2 sources").click()
        await page.wait_for_url(re.compile(f"{at}/results/\\d+$"))
        await expect(page.get_by_role("heading", level=1)).to_have_text(QUESTION)
        assert writer.prompts[-1].endswith(copied)
        augmented = await site_with_worker.value(STAGE_OUTPUT, query_id, "augment")
        assert (augmented["top_n"], len(augmented["sources"]), augmented["prompt"]) == (2, 2, copied)
        await expect(page.locator(".cite-unknown")).to_contain_text("S9")

        # A pasted answer is listed next to it; its citations link to their sources.
        await page.get_by_role("link", name="Back to the prompt").click()
        await page.get_by_label("Answer", exact=True).fill(PASTED)
        await page.get_by_role("button", name="Save the answer").click()
        await page.wait_for_url(re.compile(f"{at}/results/\\d+$"))
        await expect(page.locator(".answer strong")).to_have_text("bruised")
        await page.get_by_role("link", name="S2", exact=True).click()
        assert page.url.endswith("#source-S2")
        await expect(page.locator("#source-S2")).to_be_in_viewport()
        await expect(page.locator("#source-S2")).to_contain_text("cited")
        await expect(page.locator("#source-S7")).to_have_count(0)
        await expect(page.locator(".cite-unknown")).to_contain_text("S7")

        await page.get_by_role("link", name="Back to the prompt").click()
        await page.get_by_role("link", name="S1", exact=True).click()
        await expect(page.locator("#source-S1")).to_be_in_viewport()
        await page.get_by_role("link", name=re.compile("Results 4")).click()
        await expect(page.locator(".row p.clamp")).to_have_count(4)
        excerpts = await page.locator(".row p.clamp").all_inner_texts()
        assert excerpts[0] == PASTED
        assert excerpts[1].split() == f"{ANSWER[:340]}…".split()
        await page.locator("summary", has_text="Delete").first.click()
        await page.get_by_role("button", name=re.compile("Delete answer")).click()
        await expect(page.locator(".row")).to_have_count(3)
        assert await site_with_worker.value("SELECT count(*) FROM results WHERE query_id = $1", query_id) == 3
