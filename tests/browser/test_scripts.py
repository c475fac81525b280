"""No stored text runs, becomes an element or a link, even without a content security policy."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Final

import pytest

from tests.acceptance.conftest import Install
from tests.browser.conftest import Visit
from tests.browser.payloads import SCRIPTS
from tests.browser.places import addresses
from tests.browser.poison import Poison, replace_names, replace_texts
from tests.browser.site import Site, start_site
from tests.data import public_data

pytestmark = pytest.mark.asyncio(loop_scope="session")

#: What no page may contain: elements and attributes from texts, and addresses that run scripts.
INTRUDERS: Final = """
() => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  const addresses = new Set(["href", "xlink:href", "src", "srcset", "action", "formaction", "data", "poster"]);
  const runs = (attribute) =>
    /^(on|hx-on|data-hx-)|^(intruder|style|srcdoc)$/.test(attribute.name) ||
    (addresses.has(attribute.name) && !/^(https?|mailto):$/.test(new URL(attribute.value, location).protocol));
  const ours = (script) => script.src.startsWith(`${location.origin}/static/`);
  return [
    ...[...document.querySelectorAll("*")].filter((element) => [...element.attributes].some(runs)),
    ...document.querySelectorAll("iframe, object, embed, base, style, math, meta[http-equiv]"),
    ...[...document.scripts].filter((script) => !ours(script)),
    ...(window.ran === undefined ? [] : [document.documentElement]),
  ].map((element) => element.outerHTML.slice(0, 200));
}
"""

_RUNS: Final = re.compile(r"on|hx-on|data-hx-|intruder$|style$|srcdoc$")
_ADDRESSES: Final = frozenset({"href", "xlink:href", "src", "srcset", "action", "formaction", "data", "poster"})
_RUNS_AS_ADDRESS: Final = re.compile(r"\s*(javascript|vbscript|data):", re.IGNORECASE)


def naughty_strings() -> list[str]:
    """Strings that are known to break software."""
    strings = json.loads((public_data("naughty_strings") / "blns.json").read_text())
    return [string for string in strings if string]


def plain(text: str) -> str:
    """A text without its spaces, of which pages show fewer."""
    return "".join(text.split())


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.intruders: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        runs = any(
            _RUNS.match(name) or (name in _ADDRESSES and _RUNS_AS_ADDRESS.match(value or "")) for name, value in attrs
        )
        is_foreign = tag == "script" and not (dict(attrs).get("src") or "").startswith("/static/")
        if runs or is_foreign or tag in ("iframe", "object", "embed", "base", "style", "math"):
            self.intruders.append(self.get_starttag_text() or tag)


def intruders_in(page: str) -> list[str]:
    """What INTRUDERS finds in a page, as far as it is in its source."""
    elements = _Elements()
    elements.feed(page)
    return elements.intruders


@pytest.fixture
def poisoned(install: Install, populated_template: str) -> Iterator[Site]:
    """A site in which every text is replaced: names and single lines by scripts, long texts by naughty strings too."""
    with install(populated_template) as installation:
        poison = Poison(SCRIPTS, in_long=30, also_in_long=naughty_strings())
        replace_texts(installation, poison)
        replace_names(installation, poison)
        yield start_site(installation)


async def test_no_text_becomes_part_of_a_page(visit: Visit, poisoned: Site) -> None:
    found, shown = {}, ""
    async with visit(poisoned, bypass_csp=True) as page:
        for name, address in (await addresses(poisoned)).items():
            reply = await page.goto(address)
            assert reply is not None and reply.status == (404 if name == "missing" else 200)
            # A parser reads what the browser may have mended.
            found[name] = [*await page.evaluate(INTRUDERS), *intruders_in(await reply.text())]
            shown += await page.evaluate("document.body.textContent")

    assert {name: intruders for name, intruders in found.items() if intruders} == {}
    text = plain(shown)
    assert [word for word in (*SCRIPTS, *naughty_strings()) if plain(word) not in text] == []
