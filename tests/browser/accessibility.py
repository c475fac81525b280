"""What axe finds on a page."""

from typing import Final

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page

# Hit areas of at least 24 pixels are among the rules that axe has and does not apply by itself.
OPTIONS: Final = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}


async def findings(page: Page) -> list[str]:
    """Every violation of a page as it stands: its gravity, the rule, and the element."""
    found = await Axe().run(page, options=OPTIONS)
    return [
        f"{violation['impact']} {violation['id']}: {node['html'][:200]} ({node['failureSummary']})"
        for violation in found.response["violations"]
        for node in violation["nodes"]
    ]
