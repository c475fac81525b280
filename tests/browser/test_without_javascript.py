"""Every page can be read, and what its forms do is done, without JavaScript."""

from typing import Final

import pytest

from tests.browser.conftest import Visit
from tests.browser.places import PAGES, addresses
from tests.browser.site import Site

#: The words of a page without what only scripts do: times in the reader's zone, copying, counting.
SAID: Final = """
() => {
  const words = document.querySelector("main").cloneNode(true);
  const scripted = "time, [data-copy], [data-copy] + [role=status], [data-move], #counted";
  for (const element of words.querySelectorAll(scripted)) element.remove();
  return words.textContent.split("\\n").map((line) => line.trim()).filter((line) => line);
}
"""

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_says_the_same_without_javascript(name: str, visit: Visit, shown: Site) -> None:
    address = (await addresses(shown))[name]
    said = []
    for has_scripts in (True, False):
        async with visit(shown, java_script_enabled=has_scripts) as page:
            await page.goto(address)
            said.append(await page.evaluate(SAID))

    assert said[0] == said[1]
