"""The doors, as a browser meets them: it decides what it sends with a form and what it keeps."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.async_api import Browser

from stack.ports import LOOPBACK
from tests.acceptance.conftest import Install
from tests.browser.conftest import Visit
from tests.browser.site import Site, start_site

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def closed(install: Install, migrated_template: str) -> Iterator[tuple[Site, str]]:
    """A site without questions, and the token that it opens for."""
    with install(migrated_template) as installation:
        token = installation.ragq("token", "create", "laptop").stdout.strip()
        yield start_site(installation), token


@pytest.fixture
def unlocked(install: Install, migrated_template: str) -> Iterator[Site]:
    """A site without questions where nobody has to show a token."""
    with install(migrated_template) as installation:
        yield start_site(installation)


@contextmanager
def a_page_elsewhere(html: str) -> Iterator[str]:
    """A web site of somebody else on this machine, with one page."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.HTTPServer((LOOPBACK, 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://localhost:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


async def test_a_browser_logs_in_comes_back_to_its_page_and_logs_out(closed: tuple[Site, str], visit: Visit) -> None:
    site, token = closed
    async with visit(site) as page:
        await page.goto("/runs")
        assert page.url == f"{site.url}/login?next=/runs"
        await page.get_by_label("API token").fill(f"{token}x")
        await page.get_by_role("button", name="Log in").click()
        assert await page.get_by_role("alert").is_visible()

        await page.get_by_label("API token").fill(token)
        await page.get_by_role("button", name="Log in").click()
        await page.wait_for_url("**/runs")
        cookies = await page.context.cookies()
        assert {(cookie["name"], cookie["httpOnly"], cookie["sameSite"]) for cookie in cookies} == {
            ("ragq_session", True, "Strict"),
            ("ragq_browser", True, "Strict"),
        }
        assert await page.evaluate("document.cookie") == ""

        await page.get_by_role("button", name="Log out").click()
        await page.wait_for_url("**/login")
        await page.goto("/rag")
        assert page.url == f"{site.url}/login?next=/rag"


async def test_the_page_of_a_stranger_posts_nothing(unlocked: Site, browser: Browser) -> None:
    form = f'<form method="post" action="{unlocked.url}/rag/expansion/prompt"><input name="query" value="x"></form>'
    fetched = f'fetch("{unlocked.url}/rag/queries", {{method: "POST", mode: "no-cors", body: "{{}}"}})'
    with a_page_elsewhere(f"{form}<script>window.done = {fetched}</script>") as elsewhere:
        page = await browser.new_page()
        await page.goto(elsewhere)
        await page.evaluate("window.done.catch(() => null)")
        async with page.expect_navigation() as navigated:
            await page.evaluate("document.querySelector('form').submit()")
        refused = await navigated.value
        await page.close()

    assert refused is not None
    assert refused.status == 403
    assert unlocked.process.said.count('"status": 403') == 2
    assert await unlocked.value("SELECT count(*) FROM queries") == 0
