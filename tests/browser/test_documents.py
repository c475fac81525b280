"""From files that are imported on a page to an answer that cites a section and a page of a document."""

import re
from typing import Any, Final

import pytest
from playwright.async_api import Browser, FilePayload, Page, expect

from tests.browser.conftest import Visit
from tests.browser.populate import PRESET
from tests.browser.site import SiteWithWorker
from tests.scripted_ollama import ScriptedModel, ScriptedReply

pytestmark = pytest.mark.asyncio(loop_scope="session")

#: The parts of the browser's own viewer of PDFs.
EXPECTED: Final = r"request to another host: chrome(-extension)?://"
QUESTION: Final = "How long is black tea withered on racks?"
ANSWER_AT: Final = """
SELECT max('/rag/' || q.id || '/results/' || r.id)
FROM queries AS q JOIN results AS r ON r.query_id = q.id WHERE q.original_query = $1
"""
ANSWERED: Final = f"SELECT ({ANSWER_AT}) IS NOT NULL"
SCAN: Final = "<!DOCTYPE html><title>Scan</title>"
ARCHIVE: Final = b"PK\x03\x04 nothing"
FINISHED: Final = """
SELECT EXISTS (
    SELECT FROM stage_run AS s JOIN job AS j ON j.id = s.job_id
    WHERE j.inputs ->> 'name' = $1 AND s.stage = $2 AND s.attempts >= $3 AND j.status IN ('failed', 'succeeded')
)
"""

FILLER: Final = "A kettle is warmed, filled and set aside, and the table is laid while the water cools. " * 12

BOOK: Final = f"""<!DOCTYPE html><html lang="en"><head><title>The Book of Tea Leaves</title><style>
body {{ font: 11pt serif }} h1 {{ font-size: 24pt; break-before: page }} h2 {{ font-size: 16pt }}
</style></head><body>
<h1>The leaf</h1><p>{FILLER}</p>
<h2>Picking</h2><p>Two leaves and a bud are picked in the early morning, before the sun is high. {FILLER}</p>
<h1>Oxidation</h1><p>{FILLER}</p>
<h2>Rolling</h2><p>{FILLER}</p>
<h2>Withering</h2><p>Black tea is withered for eighteen hours on racks, until the leaf is as soft as leather and loses
half of its water. Enzymes then join oxygen to its catechins, which turns them dark. {FILLER}</p>
<h1>References</h1><p>A book about leaves, and another one about pots. {FILLER}</p>
</body></html>"""


async def pdf_of(browser: Browser, html: str = BOOK) -> bytes:
    """A page printed to a PDF with an outline, by the browser."""
    context = await browser.new_context()
    try:
        page = await context.new_page()
        await page.set_content(html)
        return await page.pdf(format="A5", outline=True, tagged=True)
    finally:
        await context.close()


def document(page: Page, name: str) -> Any:
    return page.locator(".documents > li", has=page.get_by_role("link", name=name, exact=True))


async def test_an_imported_pdf_answers_a_question_that_cites_its_section_and_page(
    visit: Visit, browser: Browser, site_with_worker: SiteWithWorker, writer: ScriptedModel
) -> None:
    book, scan = await pdf_of(browser), await pdf_of(browser, SCAN)
    async with visit(site_with_worker, forgiven=EXPECTED) as page:
        await page.goto("/ui/works/new")
        await page.get_by_label("Name of the corpus").fill("books")
        files = {"book.pdf": book, "scan.pdf": scan, "broken.docx": ARCHIVE}
        await page.get_by_label("Files", exact=True).set_input_files(
            [FilePayload(name=name, mimeType="application/octet-stream", buffer=file) for name, file in files.items()]
        )

        # What cannot be read is named; the others are imported.
        await page.get_by_role("button", name="Import").click()
        await expect(page.get_by_role("alert")).to_contain_text("broken.docx: it is a damaged archive")
        await page.get_by_role("link", name="the run that converts documents").click()
        await page.wait_for_url(re.compile(r"/ui/runs/\d+$"))

        # The list of documents follows their stages; one that fails says why, and is tried again by itself.
        await expect(document(page, "book.pdf").locator(".badge")).to_have_text("✓ succeeded", timeout=90_000)
        await expect(document(page, "book.pdf")).to_contain_text("PDF")
        await expect(document(page, "book.pdf").locator(".strip .good")).to_have_count(8)
        failed = document(page, "scan.pdf")
        await expect(failed.locator(".problem")).to_contain_text("ocrmypdf")
        await expect(failed.locator(".problem code")).to_have_text("document_unreadable")
        await failed.get_by_role("button", name="Retry").click()
        await site_with_worker.wait_until(FINISHED, "scan.pdf", "convert", 2)

        # The outline names pages; a heading is reworded, and what was cut of the document follows.
        await page.get_by_role("link", name="book.pdf", exact=True).click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("The Book of Tea Leaves")
        heading = page.locator(".outline > li", has_text="Withering")
        await expect(heading).to_contain_text(re.compile(r"H2\s+Withering\s+p\. 2"))
        await heading.locator("summary").click()
        await heading.get_by_label("Words").fill("The withering of leaves")
        await heading.get_by_role("button", name="Save the headings").click()
        await expect(page.get_by_role("status").first).to_contain_text("The headings are saved")
        await expect(page.locator(".outline > li", has_text="The withering of leaves")).to_contain_text("reworded")
        await site_with_worker.wait_until(FINISHED, "book.pdf", "publish", 2)

        await page.get_by_role("link", name="Original and result").click()
        original = await page.request.get(await page.locator("iframe").get_attribute("src") or "")
        assert original.headers["content-type"] == "application/pdf"
        assert await original.body() == book
        await expect(page.locator(".result")).to_contain_text("## The withering of leaves")
        await expect(page.locator(".page-mark").first).to_have_text("page 1")

        writer.answer = lambda prompt: ScriptedReply("It is withered for eighteen hours [S1].")
        await page.goto("/rag/new?corpus=books")
        await page.get_by_label("Question", exact=True).fill(QUESTION)
        await page.get_by_label("Preset").select_option(PRESET)
        await page.get_by_label("None: search for the question alone").check()
        await page.get_by_role("button", name="Ask").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text(QUESTION)
        await site_with_worker.wait_until(ANSWERED, QUESTION)
        await page.goto(await site_with_worker.value(ANSWER_AT, QUESTION))
        await page.get_by_role("link", name="S1", exact=True).first.click()

        cited = page.locator("#source-S1")
        await expect(cited.get_by_role("heading")).to_have_text(
            "[S1] The Book of Tea Leaves › Oxidation › The withering of leaves"
        )
        await expect(cited.locator(".facts")).to_contain_text(re.compile(r"pages? 2"))
    assert re.search(r"Oxidation.* \(work_id=\d+, .*, start-page=2, end-page=\d\)", writer.prompts[-1])
