"""Every page in light, dark and narrow: accessible, no wider than the window, and no text over another.

The pictures are in the folder `pictures` of pytest's base folder; tests/browser/pictures.py takes some to docs/images.
"""

from pathlib import Path
from typing import Final, Literal

import pytest
from playwright.async_api import Page

from tests.browser.accessibility import findings
from tests.browser.conftest import Visit
from tests.browser.places import PAGES, addresses
from tests.browser.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

WIDE: Final = (1280, 900)
NARROW: Final = (390, 844)
NARROWEST: Final = (360, 740)
LOOKS: Final[dict[str, tuple[Literal["light", "dark"], tuple[int, int]]]] = {
    "light": ("light", WIDE),
    "dark": ("dark", WIDE),
    "narrow": ("light", NARROW),
}

OVERFLOW: Final = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

#: Pairs of texts of which one is printed over the other, as far as their scrolling boxes show them.
OVERLAPS: Final = """() => {
  const shown = [], range = document.createRange();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.data.trim() || !node.parentElement.checkVisibility({visibilityProperty: true})) continue;
    const boxes = [];
    let skipped = false;
    for (let at = node.parentElement; at !== document.body; at = at.parentElement) {
      const style = getComputedStyle(at);
      skipped ||= style.position === "sticky" || style.position === "fixed" || style.clipPath !== "none";
      if (style.overflow !== "visible") boxes.push(at.getBoundingClientRect());
    }
    if (skipped) continue;
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const left = Math.max(rect.left, ...boxes.map((box) => box.left));
      const right = Math.min(rect.right, ...boxes.map((box) => box.right));
      const top = Math.max(rect.top, ...boxes.map((box) => box.top));
      const bottom = Math.min(rect.bottom, ...boxes.map((box) => box.bottom));
      if (right - left > 4 && bottom - top > 4) shown.push({left, right, top, bottom, text: node.data.trim(), node});
    }
  }
  shown.sort((one, other) => one.top - other.top);
  const found = new Set();
  shown.forEach((one, place) => {
    for (let next = place + 1; next < shown.length && shown[next].top < one.bottom - 4; next += 1) {
      const other = shown[next];
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      if (wide > 4 && one.node !== other.node) found.add([one, other].map((of) => of.text.slice(0, 40)).join(" over "));
    }
  });
  return [...found].slice(0, 5);
}"""


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the pictures."""
    return tmp_path_factory.mktemp("pictures", numbered=False)


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_is_accessible_in_every_theme(
    name: str, visit: Visit, read_only_site: Site, pictures: Path
) -> None:
    address = (await addresses(read_only_site))[name]
    found = {}
    async with visit(read_only_site, reduced_motion="reduce") as page:
        reply = await page.goto(address)
        assert reply is not None and reply.status == (404 if name == "missing" else 200)
        for look, (scheme, (width, height)) in LOOKS.items():
            await page.set_viewport_size({"width": width, "height": height})
            await page.emulate_media(color_scheme=scheme)
            await page.screenshot(path=pictures / f"{name}-{look}.png", full_page=True)
            found[look] = [*await findings(page, of_colours=look == "dark"), *await _misplaced(page)]
        await page.set_viewport_size({"width": NARROWEST[0], "height": NARROWEST[1]})
        found["narrowest"] = await _misplaced(page)

    assert {look: problems for look, problems in found.items() if problems} == {}


async def _misplaced(page: Page) -> list[str]:
    wider = await page.evaluate(OVERFLOW)
    return [*([f"{wider} pixels wider than the window"] if wider > 0 else []), *await page.evaluate(OVERLAPS)]
