"""Every page in light, dark and narrow: accessible, and no wider than the window.

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
            found[look] = [*await findings(page, of_colours=look == "dark"), *await _overflow(page)]
        await page.set_viewport_size({"width": NARROWEST[0], "height": NARROWEST[1]})
        found["narrowest"] = await _overflow(page)

    assert {look: problems for look, problems in found.items() if problems} == {}


async def _overflow(page: Page) -> list[str]:
    wider = await page.evaluate(OVERFLOW)
    return [f"{wider} pixels wider than the window"] if wider > 0 else []
