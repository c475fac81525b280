"""One visit of every page: in a narrow and a wide window, light and dark, from the keyboard, and without JavaScript.

The pictures of the docs are left in the folder `pictures` of pytest's base folder, for tests/browser/pictures.py.
"""

from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import pytest
from playwright.async_api import Page

from tests.browser.accessibility import EVERY_RULE, OF_COLOURS_AND_LAYOUT, findings
from tests.browser.chromium import LOST_CONNECTION
from tests.browser.conftest import Visit
from tests.browser.pictures import SOURCES
from tests.browser.places import PAGES, addresses
from tests.browser.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Look(NamedTuple):
    """A window, and the rules of accessibility that are checked in it."""

    scheme: Literal["light", "dark"]
    size: tuple[int, int]
    rules: dict[str, Any]


#: The rules of colours are checked in both schemes, those of layout at both widths; the last window is that of the walk
#: by keyboard.
LOOKS: Final = {
    "narrow": Look("light", (390, 844), EVERY_RULE),
    "dark": Look("dark", (1280, 900), OF_COLOURS_AND_LAYOUT),
}
#: A page in the window of the page before it is quicker than one in a window of its own.
AT_ONCE: Final = 9
GROUPS: Final = [[*PAGES][at : at + AT_ONCE] for at in range(0, len(PAGES), AT_ONCE)]

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

#: The text of a page, or of its source as a browser without scripts reads it, without what needs them: local times,
#: copying.
TEXT: Final = """
(source) => {
  const shown = source ? new DOMParser().parseFromString(source, "text/html") : document;
  const words = shown.querySelector("main").cloneNode(true);
  const scripted = "time, [data-copy], [data-copy] + [role=status]";
  for (const element of words.querySelectorAll(scripted)) element.remove();
  return words.textContent.split("\\n").map((line) => line.trim()).filter((line) => line);
}
"""

MOST_STOPS: Final = 600

#: Keeps what each key leaves the focus on, until it comes round: its index on the page, and whether it is visible.
KEEP_STOPS: Final = """
() => {
  const places = new Map([...document.querySelectorAll("*")].map((element, place) => [element, place]));
  window.stops = [];
  document.addEventListener("keyup", () => {
    const element = document.activeElement;
    window.isRound ||= element === document.body || places.get(element) === window.stops[0]?.place;
    if (window.isRound) return;
    const style = getComputedStyle(element), box = element.getBoundingClientRect();
    const ring = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
    const inside = box.bottom > 0 && box.top < innerHeight && box.width > 0 && box.height > 0;
    window.stops.push({place: places.get(element), shown: ring && inside, html: element.outerHTML.slice(0, 120)});
  });
}
"""
#: What can be used on the page. In a radio group the keyboard stops at the checked one.
USABLE: Final = """
() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
  .filter((element) => element.checkVisibility({visibilityProperty: true}))
  .filter((element) => !element.disabled && element.ariaHidden !== "true")
  .filter((element) => element.type !== "radio" || element.checked)
  .map((element) => [...document.querySelectorAll("*")].indexOf(element))
"""


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures", numbered=False)


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: f"{names[0]} to {names[-1]}")
async def test_pages_are_accessible_in_every_theme_by_keyboard_and_without_javascript(
    names: list[str], visit: Visit, read_only_site: Site, pictures: Path
) -> None:
    where = await addresses(read_only_site)
    found, texts, without_scripts = {}, {}, {}
    async with visit(read_only_site, reduced_motion="reduce", forgiven=LOST_CONNECTION) as page:
        # Elements are identified by index; none may be replaced meanwhile.
        await page.route("**/events", lambda route: route.fulfill(content_type="text/event-stream", body=""))
        for name in names:
            reply = await page.goto(where[name])
            assert reply is not None and reply.status == (404 if name == "missing" else 200)
            texts[name] = await page.evaluate(TEXT)
            without_scripts[name] = await page.evaluate(TEXT, await reply.text())
            if (picture := f"{name}-light.png") in SOURCES:
                await page.screenshot(path=pictures / picture, full_page=True)
            for look, (scheme, size, rules) in LOOKS.items():
                await page.set_viewport_size({"width": size[0], "height": size[1]})
                await page.emulate_media(color_scheme=scheme)
                if (picture := f"{name}-{look}.png") in SOURCES:
                    await page.screenshot(path=pictures / picture, full_page=True)
                found[name, look] = [*await findings(page, rules), *await _misplaced(page)]
            found[name, "keyboard"] = await _unreached(page)
            await page.emulate_media(color_scheme="light")

    assert {where: problems for where, problems in found.items() if problems} == {}
    assert without_scripts == texts


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
    await page.evaluate(KEEP_STOPS)
    for _ in range(MOST_STOPS // AT_ONCE):
        for _ in range(AT_ONCE):
            await page.keyboard.press("Tab")
        if await page.evaluate("window.isRound || document.activeElement === document.body"):
            found: list[dict[str, Any]] = await page.evaluate("window.stops")
            return found
    raise AssertionError(f"The focus does not come round within {MOST_STOPS} stops.")


async def _misplaced(page: Page) -> list[str]:
    wider = await page.evaluate(OVERFLOW)
    return [*([f"{wider} pixels wider than the window"] if wider > 0 else []), *await page.evaluate(OVERLAPS)]
