"""One visit of every page: light, dark and narrow, from the keyboard, and without JavaScript.

The pictures of the docs are left in the folder `pictures` of pytest's base folder, for tests/browser/pictures.py.
"""

from pathlib import Path
from typing import Any, Final, Literal

import pytest
from playwright.async_api import Page

from tests.browser.accessibility import findings
from tests.browser.chromium import LOST_CONNECTION
from tests.browser.conftest import Visit
from tests.browser.pictures import SOURCES
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

#: The text of a page without what needs scripts: local times, copying, counting.
TEXT: Final = """
() => {
  const words = document.querySelector("main").cloneNode(true);
  const scripted = "time, [data-copy], [data-copy] + [role=status], [data-move], #counted";
  for (const element of words.querySelectorAll(scripted)) element.remove();
  return words.textContent.split("\\n").map((line) => line.trim()).filter((line) => line);
}
"""

MOST_STOPS: Final = 600

#: What the focus is on: its index among the elements of the page, and whether it is visible.
FOCUSED: Final = """
() => {
  const element = document.activeElement;
  if (element === document.body) return null;
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  const ring = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
  const inside = box.bottom > 0 && box.top < innerHeight && box.width > 0 && box.height > 0;
  return {
    place: [...document.querySelectorAll("*")].indexOf(element),
    shown: ring && inside,
    html: element.outerHTML.slice(0, 120),
  };
}
"""
#: What can be used on the page. In a radio group the keyboard stops at the checked one.
USABLE: Final = """
() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
  .filter((element) => element.checkVisibility({visibilityProperty: true}))
  .filter((element) => !element.disabled && element.tabIndex >= 0)
  .filter((element) => element.type !== "radio" || element.checked)
  .map((element) => [...document.querySelectorAll("*")].indexOf(element))
"""


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the pictures."""
    return tmp_path_factory.mktemp("pictures", numbered=False)


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_is_accessible_in_every_theme_by_keyboard_and_without_javascript(
    name: str, visit: Visit, read_only_site: Site, pictures: Path
) -> None:
    address = (await addresses(read_only_site))[name]
    found = {}
    async with visit(read_only_site, reduced_motion="reduce", forgiven=LOST_CONNECTION) as page:
        # Elements are identified by index; none may be replaced meanwhile.
        await page.route("**/events", lambda route: route.fulfill(content_type="text/event-stream", body=""))
        reply = await page.goto(address)
        assert reply is not None and reply.status == (404 if name == "missing" else 200)
        text = await page.evaluate(TEXT)
        for look, (scheme, (width, height)) in LOOKS.items():
            await page.set_viewport_size({"width": width, "height": height})
            await page.emulate_media(color_scheme=scheme)
            if (picture := f"{name}-{look}.png") in SOURCES:
                await page.screenshot(path=pictures / picture, full_page=True)
            found[look] = [*await findings(page, of_colours=look == "dark"), *await _misplaced(page)]
        await page.set_viewport_size({"width": NARROWEST[0], "height": NARROWEST[1]})
        found["narrowest"] = await _misplaced(page)
        await page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
        found["keyboard"] = await _unreached(page)
    async with visit(read_only_site, java_script_enabled=False) as page:
        await page.goto(address)
        without_scripts = await page.evaluate(TEXT)

    assert {look: problems for look, problems in found.items() if problems} == {}
    assert without_scripts == text


async def _unreached(page: Page) -> list[str]:
    """What the keyboard does not reach in the order of the page, or shows no focus on."""
    found = await _stops(page)
    places = [stop["place"] for stop in found]
    hidden = [f"no visible focus on {stop['html']}" for stop in found if not stop["shown"]]
    missed = set(await page.evaluate(USABLE)) - set(places)
    return [
        *hidden,
        *(f"never reached: element {place}" for place in sorted(missed)),
        *(["out of order"] if places != sorted(places) else []),
    ]


async def _stops(page: Page) -> list[dict[str, Any]]:
    """The focus stops from the beginning of the page to its end."""
    found: list[dict[str, Any]] = []
    while len(found) < MOST_STOPS:
        await page.keyboard.press("Tab")
        focused = await page.evaluate(FOCUSED)
        if focused is None or (found and focused["place"] == found[0]["place"]):
            return found
        found.append(focused)
    raise AssertionError(f"The focus does not come round within {MOST_STOPS} stops.")


async def _misplaced(page: Page) -> list[str]:
    wider = await page.evaluate(OVERFLOW)
    return [*([f"{wider} pixels wider than the window"] if wider > 0 else []), *await page.evaluate(OVERLAPS)]
