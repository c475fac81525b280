"""Works are uploaded, presets edited and templates changed in a browser."""

import pytest
from playwright.async_api import Dialog, FilePayload, expect

from tests.acceptance.shelf import TEA
from tests.browser.conftest import Visit
from tests.browser.site import Site, SiteWithWorker

pytestmark = pytest.mark.asyncio(loop_scope="session")

FILE: FilePayload = {"name": "tea.md", "mimeType": "text/markdown", "buffer": TEA.encode()}


async def test_an_upload_is_embedded_while_its_page_is_open(visit: Visit, site_with_worker: SiteWithWorker) -> None:
    async with visit(site_with_worker) as page:
        await page.goto("/ui/corpora")
        await page.get_by_role("link", name="New corpus").click()
        await page.get_by_label("Name of the corpus").fill("uploaded")
        await page.get_by_label("Files", exact=True).set_input_files(FILE)
        await page.get_by_role("button", name="Import").click()
        await expect(page.get_by_role("status").first).to_have_text("Works that are new or replaced: 1.")
        await expect(page.locator(".figures > div", has_text="searchable")).to_contain_text("3")
        await expect(page.locator(".run-states")).to_contain_text("1 succeeded")
        await expect(page.locator("#works-table .badge")).to_have_text("✓ searchable")
        await page.get_by_role("link", name="Ask a question").click()
        await expect(page.get_by_label("Corpora")).to_have_values(["uploaded"])


async def test_a_preset_with_unsaved_changes_is_not_left_without_asking(visit: Visit, editable_site: Site) -> None:
    asked: list[str] = []

    async def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        await dialog.dismiss()

    async with visit(editable_site, forgiven="dialog:") as page:
        page.on("dialog", stay)
        await page.goto("/ui/presets")
        field, unsaved = page.get_by_label("top_n_contexts", exact=True), page.locator("#unsaved")
        slider = page.get_by_label("augmentation.top_n_contexts, slider")
        await expect(unsaved).to_be_empty()
        await field.fill("7")
        await expect(slider).to_have_value("7")
        await slider.focus()
        await page.keyboard.press("ArrowRight")
        await expect(field).to_have_value("8")
        await expect(unsaved).to_have_text("1 unsaved change")

        await page.get_by_role("link", name="Templates").click()
        assert (asked, page.url.rpartition("/")[2]) == (["beforeunload"], "presets")
        await page.get_by_role("button", name="Reset").click()
        await expect(unsaved).to_be_empty()
        await expect(slider).not_to_have_value("8")
        await field.fill("9")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("status").first).to_contain_text("The preset is saved.")
        await expect(field).to_have_value("9")
        assert asked == ["beforeunload"]


async def test_a_preset_and_a_template_are_changed_without_javascript(visit: Visit, editable_site: Site) -> None:
    async with visit(editable_site, java_script_enabled=False) as page:
        await page.goto("/ui/presets")
        await page.locator("summary", has_text="Duplicate").click()
        await page.get_by_label("Name of the copy").fill("Mine")
        await page.get_by_role("button", name="Create the copy").click()
        await page.get_by_role("spinbutton", name="dense_limit").fill("500")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("alert")).to_contain_text("1 value cannot be used")
        await page.get_by_role("spinbutton", name="dense_limit").fill("11")
        await page.get_by_role("button", name="Save").click()
        await page.get_by_role("button", name="Make default").click()
        await expect(page.locator(".tabs a").first).to_contain_text("★ Mine")

        await page.goto("/ui/templates/query_expansion")
        await page.get_by_role("link", name="New version", exact=True).click()
        await page.get_by_label("Title").fill("Brief")
        await page.get_by_label("Text", exact=True).fill("{query}, {words}")
        await page.get_by_role("button", name="Add the version").click()
        await expect(page.locator("#wrong-template_content")).to_contain_text("{words} is unknown")
        await page.get_by_label("Text", exact=True).fill("Ask {n} times: {query}")
        await page.get_by_role("button", name="Add the version").click()
        await expect(page.locator("#version-2")).to_contain_text("Ask {n} times: {query}")
        await page.get_by_role("button", name="Activate version 2").click()
        await expect(page.get_by_role("status").first).to_contain_text("New prompts use this version.")
