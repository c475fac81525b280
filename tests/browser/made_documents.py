"""PDFs for the tests, printed by the browser."""

from typing import Final

from playwright.async_api import Browser

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
