"""Files and folders are chosen, dropped, cut to what an import takes, estimated and sent."""

import re
from pathlib import Path
from typing import Final

import pytest
from playwright.async_api import FilePayload, Locator, Page, expect

from api.work_uploads import MAX_FILES
from tests.browser.conftest import Visit
from tests.browser.site import Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

FORM: Final = "/works/new?corpus=kept"
FILES: Final = {
    "tea.md": "# Tea\n\nIt is green.\n",
    "pot.md": "# Pot\n\nIt is hot.\n",
    "cup.md": "# Cup\n\nIt is small.\n",
}
TITLES: Final = """
SELECT string_agg(title, ' ' ORDER BY title) FROM works
WHERE corpus_id = (SELECT id FROM corpus WHERE name = 'kept')
"""


def payload(name: str, text: str) -> FilePayload:
    return {"name": name, "mimeType": "text/markdown", "buffer": text.encode()}


async def fill(page: Page) -> None:
    """Make the corpus by the form."""
    await page.goto("/works/new")
    await page.get_by_label("Name of the corpus").fill("kept")
    await page.get_by_label("Files", exact=True).set_input_files([payload(*file) for file in FILES.items()])
    await expect(page.locator("[data-total]")).to_contain_text("3 files, ")
    await page.get_by_role("button", name="Import").click()
    await page.wait_for_url(re.compile(r"/corpora/\d+"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of these works, later: one changed, one gone, one new, a copy, and a picture."""
    made = tmp_path / "books"
    (made / "deep").mkdir(parents=True)
    (made / "tea.md").write_bytes(b"\xef\xbb\xbf" + FILES["tea.md"].encode())
    (made / "pot.md").write_text("# Pot\n\nIt is cold.\n")
    (made / "copy.md").write_text(FILES["tea.md"])
    (made / "deep/mug.md").write_text("# Mug\n\nIt is large.\n")
    (made / "deep/pot.md").write_text("# Another pot\n")
    (made / "picture.png").write_bytes(b"\x89PNG")
    return made


async def choose_folder(page: Page, folder: Path) -> None:
    """Choose it by its button, as a browser does once the user picked one."""
    async with page.expect_file_chooser() as chooser:
        await page.get_by_role("button", name="Choose a folder").click()
    await (await chooser.value).set_files(folder)


async def drop_folder(page: Page, folder: Path) -> None:
    """Drop it on the form, from another window."""
    zone = await page.locator("[data-drop]").bounding_box()
    assert zone is not None
    at = {"x": zone["x"] + zone["width"] / 2, "y": zone["y"] + zone["height"] / 2}
    session = await page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        dragged = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
        await session.send("Input.dispatchDragEvent", {"type": kind, **at, "data": dragged})


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("list", name="Chosen files").get_by_role("listitem").filter(has_text=name)


async def test_a_dropped_folder_is_read_with_what_is_in_its_folders(
    visit: Visit, editable_site: Site, folder: Path
) -> None:
    async with visit(editable_site, reduced_motion="reduce") as page:
        await page.goto("/works/new?corpus=dropped-folder")
        await drop_folder(page, folder)

        await expect(page.locator("[data-total]")).to_contain_text("5 files, ")
        await expect(row(page, "mug.md")).to_have_count(1)
        await expect(row(page, "picture.png")).to_have_count(0)


async def test_a_folder_is_sent_again_and_what_is_unchanged_is_left_alone(
    visit: Visit, editable_site: Site, folder: Path
) -> None:
    (folder / "copy.md").unlink()
    async with visit(editable_site, reduced_motion="reduce") as page:
        await fill(page)
        await page.goto(FORM)
        await choose_folder(page, folder)
        await expect(page.locator(".chosen").get_by_text("picture.png")).to_have_count(0)

        await page.get_by_role("button", name="Import").click()
        await page.wait_for_url(re.compile(r"/corpora/\d+\?new=2&replaced=1&unchanged=1$"))
    assert await editable_site.value(TITLES) == "Another pot Cup Mug Pot Tea"


async def test_more_files_than_an_import_takes_are_cut_to_those_that_fit(visit: Visit, read_only_site: Site) -> None:
    many = [payload(f"{n}.md", f"# Work {n}\n") for n in range(MAX_FILES + 5)]
    async with visit(read_only_site) as page:
        await page.goto("/works/new?corpus=default")
        await page.get_by_label("Files", exact=True).set_input_files(many)
        total = page.locator("[data-total]")
        await expect(total).to_contain_text(f"One import takes {MAX_FILES} files, and {MAX_FILES + 5} are chosen.")
        await page.get_by_role("button", name="Keep only as many as one import takes").click()
        await expect(total).to_contain_text(f"{MAX_FILES} files, ")
        await expect(total).not_to_contain_text("One import takes")
