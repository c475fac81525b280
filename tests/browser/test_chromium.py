"""The browser that tests share."""

import pytest

from tests.browser.chromium import Chromium

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_browser_that_closed_is_started_again(chromium: Chromium) -> None:
    first = await chromium.running()
    await first.close()

    again = await chromium.running()

    assert again.is_connected()
    assert await chromium.running() is again
