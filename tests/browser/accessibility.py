"""Violations that axe finds on a page."""

from typing import Final

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page

# Hit areas of at least 24 pixels are among the rules that axe has and does not apply by itself.
OPTIONS: Final = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}


#: What another scheme of colours may break.
OF_COLOURS: Final = {"resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"]}


async def findings(page: Page, *, of_colours: bool = False) -> list[str]:
    """Every violation of a page, or those of colours alone: its impact, the rule, and the element."""
    found = await Axe().run(page, options=OF_COLOURS if of_colours else OPTIONS)
    return [
        f"{violation['impact']} {violation['id']}: {node['html'][:200]} ({node['failureSummary']})"
        for violation in found.response["violations"]
        for node in violation["nodes"]
    ]
