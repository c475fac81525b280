"""Every page from the keyboard alone: in the order of the page, with a focus that can be seen."""

from typing import Any, Final

import pytest
from playwright.async_api import Page

from tests.browser.conftest import Visit
from tests.browser.places import PAGES, addresses
from tests.browser.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

MOST_STOPS: Final = 400

#: What the focus is on: its place among the elements of the page, and whether anybody sees that it is there.
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
#: What can be used on the page. Of the choices of one group the keyboard stops at the chosen one.
USABLE: Final = """
() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
  .filter((element) => element.checkVisibility({visibilityProperty: true}))
  .filter((element) => !element.disabled && element.tabIndex >= 0)
  .filter((element) => element.type !== "radio" || element.checked)
  .map((element) => [...document.querySelectorAll("*")].indexOf(element))
"""


async def stops(page: Page) -> list[dict[str, Any]]:
    """Where the focus stops from the beginning of the page to its end."""
    found: list[dict[str, Any]] = []
    while len(found) < MOST_STOPS:
        await page.keyboard.press("Tab")
        focused = await page.evaluate(FOCUSED)
        if focused is None or (found and focused["place"] == found[0]["place"]):
            return found
        found.append(focused)
    raise AssertionError(f"The focus does not come round within {MOST_STOPS} stops.")


@pytest.mark.parametrize("name", PAGES)
async def test_the_focus_comes_to_everything_in_order_and_is_seen(name: str, visit: Visit, shown: Site) -> None:
    async with visit(shown, reduced_motion="reduce") as page:
        await page.goto((await addresses(shown))[name])

        found = await stops(page)

        assert [stop["html"] for stop in found if not stop["shown"]] == []
        places = [stop["place"] for stop in found]
        assert places == sorted(places)
        assert set(await page.evaluate(USABLE)) <= set(places)


async def test_the_first_stop_leads_past_the_navigation(visit: Visit, shown: Site) -> None:
    async with visit(shown) as page:
        await page.goto("/rag")

        await page.keyboard.press("Tab")
        assert await page.locator(":focus").inner_text() == "Skip to the content"
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")

        assert await page.evaluate("document.activeElement.closest('main') !== null")
