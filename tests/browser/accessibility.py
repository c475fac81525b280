"""Violations that axe finds on a page."""

from typing import Any, Final

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page

#: The script of axe, which a page has to have once.
_AXE: Final = Axe().axe_script

# Hit areas of at least 24 pixels are among the rules that axe has and does not apply by itself.
EVERY_RULE: Final[dict[str, Any]] = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
#: What another scheme of colours and another width may break.
OF_COLOURS_AND_LAYOUT: Final[dict[str, Any]] = {
    **EVERY_RULE,
    "runOnly": ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"],
}


async def findings(page: Page, rules: dict[str, Any] = EVERY_RULE) -> list[str]:
    """Every violation of rules on a page: its impact, the rule, and the element."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(_AXE)
    found = await page.evaluate("(options) => axe.run(options).then((results) => results.violations)", rules)
    return [
        f"{violation['impact']} {violation['id']}: {node['html'][:200]} ({node['failureSummary']})"
        for violation in found
        for node in violation["nodes"]
    ]
