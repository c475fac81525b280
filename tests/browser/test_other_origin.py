"""Pages of another origin in a browser: the calls of the original's web client, and a login."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest
from playwright.async_api import Browser, Error, Page

from tests.acceptance.conftest import Install
from tests.browser.populate import ANSWER, EXPANSION
from tests.browser.site import Site, start_site
from tests.scripted_ollama import ScriptedOllama, ScriptedReply
from tests.served import served

pytestmark = pytest.mark.asyncio(loop_scope="session")

FILES = Path(__file__).with_name("other_origin")
#: How long an answer takes.
ANSWER_S = 2.5


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where the pages of another origin are served."""
    with served(partial(_Quiet, directory=str(FILES))) as url:
        yield int(url.rpartition(":")[2])


@pytest.fixture
def listed_site(install: Install, populated_template: str, ollama: ScriptedOllama, port: int) -> Iterator[Site]:
    """A populated site with a slow model, which lists the origin `http://localhost`."""
    # As many phrases as the client asks for.
    expansion = json.dumps(EXPANSION | {"queries": ["oxidation of catechins", "brown leaves", "dark tea"]})
    writer = ollama.model(
        lambda prompt: ScriptedReply(ANSWER, delay_s=ANSWER_S) if "Source:" in prompt else ScriptedReply(expansion)
    )
    with install(populated_template) as installation:
        installation.settings |= {
            "RAGQ_API_CORS_ORIGINS": f"http://localhost:{port}",
            "RAGQ_QUERY_MODEL": writer.name,
        }
        installation.start_worker()
        yield start_site(installation)


@asynccontextmanager
async def page_of(browser: Browser, origin: str, api: str) -> AsyncIterator[Page]:
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{origin}/page.html")
    await page.evaluate("(where) => { api = where; }", api)
    yield page
    await context.close()


async def test_a_page_of_a_listed_origin_does_what_it_did_and_logs_in_and_one_of_another_reads_nothing(
    browser: Browser, listed_site: Site, port: int
) -> None:
    async with page_of(browser, f"http://127.0.0.1:{port}", listed_site.url) as page:
        for call in ("get('/rag/queries')", "post('/rag/expansion/prompt', {query: 'Why?'})", "showToken('ragq_x')"):
            with pytest.raises(Error, match="Failed to fetch"):
                await page.evaluate(call)
    async with page_of(browser, f"http://localhost:{port}", listed_site.url) as page:
        for part in ("settings", "templates", "presets", "corpus"):
            await page.evaluate(f"{part}()")
        query = await page.evaluate("expansion()")
        await page.evaluate("(query) => runAll(query)", query)
        await page.evaluate("(query) => inspect(query)", query)
        answer = await page.evaluate("(query) => answers(query)", query)
        made = await asyncio.to_thread(listed_site.installation.ragq, "token", "create", "notes")
        statuses = await page.evaluate("(token) => showToken(token)", made.stdout.strip())

    assert answer.strip() == ANSWER.strip()
    assert statuses == [401, 200, 200]
