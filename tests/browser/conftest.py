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
from tests.browser.chromium import EXECUTABLE, TIMEOUT_MS, Chromium, visiting
from tests.browser.populate import ANSWER, EXPANSION, add_models, populate
from tests.browser.site import Site, SiteWithWorker, start_site
from tests.scripted_ollama import ScriptedModel, ScriptedOllama, ScriptedReply

__all__ = ["install", "ollama"]

Visit: TypeAlias = Callable[..., AbstractAsyncContextManager[Page]]
"""Opens a page of a site, `visit(site, color_scheme="dark")`; the block fails for every error in it."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Chromium]:
    """The browser of the machine; without one the test is skipped."""
    if EXECUTABLE is None:
        pytest.skip("needs a chromium on the path")
    expect.set_options(timeout=TIMEOUT_MS)
    async with async_playwright() as playwright:
        kept = Chromium(playwright.chromium)
        yield kept
        await kept.close()


@pytest_asyncio.fixture(loop_scope="session")
async def browser(chromium: Chromium) -> Browser:
    """The running browser; started again where it closed."""
    return await chromium.running()


@pytest.fixture
def visit(browser: Browser) -> Visit:
    def opened(site: Site, **options: Any) -> AbstractAsyncContextManager[Page]:
        return visiting(browser, site.url, **options)

    return opened


@pytest.fixture(scope="session")
def populated_template(
    install: Install, migrated_template: str, ollama: ScriptedOllama, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """A template database with data for every page."""
    add_models(ollama)

    def build() -> str:
        with install(migrated_template) as installation:
            populate(installation, tmp_path_factory.mktemp("site"))
        return installation.database

    return run_folder.once("populated_template", build)


@pytest.fixture(scope="session")
def read_only_site(install: Install, populated_template: str) -> Iterator[Site]:
    """A populated site without a worker, for tests that change nothing."""
    with install(populated_template) as installation:
        yield start_site(installation)


@pytest.fixture(scope="module")
def editable_site(install: Install, populated_template: str) -> Iterator[Site]:
    """A populated site without a worker, for the tests of one file that change it."""
    with install(populated_template) as installation:
        yield start_site(installation)


@pytest.fixture(scope="module")
def writer(ollama: ScriptedOllama) -> ScriptedModel:
    """The model of the site that expands and answers questions."""
    return ollama.model(lambda prompt: ScriptedReply(ANSWER if "Source:" in prompt else json.dumps(EXPANSION)))


@pytest.fixture(scope="module")
def site_with_worker(install: Install, populated_template: str, writer: ScriptedModel) -> Iterator[SiteWithWorker]:
    """A populated site with a worker whose leases last one second, for the tests of one file."""
    with install(populated_template) as installation:
        installation.settings |= {"RAGQ_LEASE_SECONDS": "1"}
        installation.settings |= {"RAGQ_QUERY_MODEL": writer.name}
        worker = installation.start_worker()
        site = start_site(installation)
        yield SiteWithWorker(site.installation, site.process, site.url, worker)
