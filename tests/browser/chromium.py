"""The browser of the machine, and the errors that occur in it."""

import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from playwright.async_api import Browser, BrowserType, ConsoleMessage, Page, Request, Response

EXECUTABLE: Final = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
TIMEOUT_MS: Final = 60_000

#: What htmx logs about a server that stopped.
LOST_CONNECTION: Final = r"console: (\[object Event\]|htmx:)"

# The console logs refused replies too; `_replied` checks them.
_OF_A_REPLY = "Failed to load resource"

_TELL_OF_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`violates ${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""


class Chromium:
    """One browser for many tests. A machine that is short of memory may end it between two of them."""

    def __init__(self, kind: BrowserType) -> None:
        self._kind = kind
        self._launched: Browser | None = None

    async def running(self) -> Browser:
        """The browser, started when there is none."""
        if self._launched is None or not self._launched.is_connected():
            self._launched = await self._kind.launch(executable_path=EXECUTABLE, args=list(FLAGS))
        return self._launched

    async def close(self) -> None:
        if self._launched is not None:
            await self._launched.close()


@asynccontextmanager
async def visiting(browser: Browser, url: str, *, forgiven: str = "", **options: Any) -> AsyncIterator[Page]:
    """A page of a new visitor to a site, whose relative addresses are the site's.

    When the block ends without an error of its own, it fails for every error in the browser meanwhile: errors
    on the console, scripts that failed, dialogs, violations of the content security policy, missing parts of pages,
    and requests to other hosts; unless the regular expression `forgiven` matches the error. `options` are those
    of a browser context.
    """
    found: list[str] = []
    context = await browser.new_context(base_url=url, **options)
    context.set_default_timeout(TIMEOUT_MS)
    await context.add_init_script(_TELL_OF_VIOLATIONS)
    context.on("console", lambda message: found.extend(_messages(message)))
    context.on("weberror", lambda failed: found.append(f"script failed: {failed.error}"))
    context.on("dialog", lambda dialog: found.append(f"dialog: {dialog.message}"))
    context.on("request", lambda request: found.extend(_asked(request, url)))
    context.on("response", lambda response: found.extend(_replied(response)))
    try:
        yield await context.new_page()
    finally:
        await context.close()
    found = [problem for problem in found if not (forgiven and re.match(forgiven, problem))]
    assert not found, "\n".join(found)


def _messages(message: ConsoleMessage) -> list[str]:
    is_problem = message.type in ("error", "warning") and not message.text.startswith(_OF_A_REPLY)
    return [f"console: {message.text}"] if is_problem else []


def _asked(request: Request, url: str) -> list[str]:
    is_of_site = request.url.startswith((f"{url}/", "data:"))
    return [] if is_of_site else [f"request to another host: {request.url}"]


def _replied(response: Response) -> list[str]:
    is_part = response.request.resource_type != "document"
    return [f"{response.status} {response.url}"] if is_part and response.status >= 400 else []
