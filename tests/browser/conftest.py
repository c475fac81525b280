"""A browser, and sites for it to visit."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from tests import run_folder
from tests.acceptance.conftest import Install, install, ollama
from tests.browser.chromium import EXECUTABLE, FLAGS, TIMEOUT_MS, visiting
from tests.browser.furniture import ANSWER, EXPANSION, furnish, supply
from tests.browser.site import Office, Site, start_site
from tests.scripted_ollama import Say, ScriptedModel, ScriptedOllama

__all__ = ["install", "ollama"]

Visit: TypeAlias = Callable[..., AbstractAsyncContextManager[Page]]
"""Opens a page of a site, `visit(site, color_scheme="dark")`; the block fails for whatever went wrong in it."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The browser of the machine; without one the test is skipped."""
    if EXECUTABLE is None:
        pytest.skip("needs a chromium on the path")
    expect.set_options(timeout=TIMEOUT_MS)
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=EXECUTABLE, args=list(FLAGS))
        yield launched
        await launched.close()


@pytest.fixture(scope="session")
def visit(browser: Browser) -> Visit:
    """Visits sites with the browser."""

    def opened(site: Site, **options: Any) -> AbstractAsyncContextManager[Page]:
        return visiting(browser, site.url, **options)

    return opened


@pytest.fixture(scope="session")
def furnished_template(
    install: Install, migrated_template: str, ollama: ScriptedOllama, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """A database with one of everything that the pages show, for others to copy."""
    supply(ollama)

    def build() -> str:
        with install(migrated_template) as installation:
            furnish(installation, tmp_path_factory.mktemp("furniture"))
        return installation.database

    return run_folder.once("furnished_template", build)


@pytest.fixture(scope="session")
def shown(install: Install, furnished_template: str) -> Iterator[Site]:
    """A furnished site where nothing works: for tests that look and leave everything as they found it."""
    with install(furnished_template) as installation:
        yield start_site(installation)


@pytest.fixture
def desk(install: Install, furnished_template: str) -> Iterator[Site]:
    """A furnished site where nothing works, for one test that changes it."""
    with install(furnished_template) as installation:
        yield start_site(installation)


@pytest.fixture(scope="module")
def writer(ollama: ScriptedOllama) -> ScriptedModel:
    """The model that expands questions and answers them in an office."""
    return ollama.model(lambda prompt: Say(ANSWER if "Source:" in prompt else json.dumps(EXPANSION)))


@pytest.fixture(scope="module")
def office(install: Install, furnished_template: str, writer: ScriptedModel) -> Iterator[Office]:
    """A furnished site with a worker, for the tests of one file. A death costs a second there."""
    with install(furnished_template) as installation:
        installation.settings |= {"RAGQ_LEASE_SECONDS": "1", "RAGQ_HEARTBEAT_SECONDS": "0.3"}
        installation.settings |= {"RAGQ_QUERY_MODEL": writer.name}
        worker = installation.start_worker()
        site = start_site(installation)
        yield Office(site.installation, site.process, site.url, worker)
