"""Documents over REST: shown, and edited by replies."""

from collections.abc import AsyncIterator

import httpx
import pytest

from api.context import ApiContext
from tests.api.rest.problems import problem
from tests.services.documents import BOOK, Library, made_library


@pytest.fixture
async def document(ctx: ApiContext, database_url: str) -> AsyncIterator[tuple[Library, int]]:
    """A document whose stages are done, and its job."""
    async with made_library(ctx.database, database_url) as library:
        job_id = await library.job()
        await library.run(job_id)
        yield library, job_id


async def test_a_document_is_shown_by_its_job(client: httpx.AsyncClient, document: tuple[Library, int]) -> None:
    _, job_id = document
    shown = (await client.get(f"/documents/{job_id}")).json()
    (work,) = (await client.get("/corpora/1/works")).json()["works"]

    assert work["job_id"] == job_id
    assert (shown["job_id"], shown["work_id"], shown["repaired_by"], shown["changed"]) == (
        job_id,
        work["id"],
        "rules",
        1,
    )
    assert shown["headings"][1] == {
        "line": 9,
        "level": 3,
        "text": "Leaves",
        "page": None,
        "toc_level": None,
        "disagrees": False,
        "action": "H2",
        "repaired_level": 2,
        "repaired_text": "Leaves",
        "work_line": 9,
        "embeds": True,
        "reason": None,
    }
    markdown = (await client.get(f"/documents/{job_id}/markdown")).json()
    assert markdown == {"job_id": job_id, "markdown": BOOK.replace("### Leaves", "## Leaves")}


async def test_what_cannot_be_done_is_a_problem(client: httpx.AsyncClient, document: tuple[Library, int]) -> None:
    for address, body, status, kind in [
        ("/documents/1/repair/reply", {"reply": "I cannot."}, 400, "reply-unusable"),
        ("/documents/1/selection/reply", {"reply": "9 : H2"}, 400, "reply-unusable"),
    ]:
        refused = await client.post(address, json=body)

        assert problem(refused) == (status, kind)
