"""The pages of documents: their import, their outline, original and sections."""

import re

import httpx
import pytest
from fastapi import FastAPI

from api.pages.documents import PAGE_LINES
from schemas.values.documents import DecidedBy, RepairedTitles
from schemas.values.requests import ImportRequest
from services.documents import decision_prompt
from services.imports import WorkFile, import_files
from store.database import Connection
from tests.api.pages.html import HTML, form, see, words
from tests.api.works import imported
from tests.services.documents import Library, library

__all__ = ["library"]


async def sent(client: httpx.AsyncClient, action: str, fields: dict[str, str], status: int = 303) -> httpx.Response:
    reply = await client.post(action, headers=HTML, data=fields)
    assert reply.status_code == status, reply.text
    return reply


@pytest.fixture
async def job(library: Library, app: FastAPI) -> int:
    """A document of markdown that is a work now."""
    job_id = await library.job()
    await library.run(job_id)
    return job_id


async def test_a_changed_heading_is_an_attempt_and_others_are_left(
    client: httpx.AsyncClient, library: Library, job: int
) -> None:
    address = f"/ui/documents/{job}/outline"
    fields = form(await see(client, f"/ui/documents/{job}"), address)
    assert fields["action-9"] == "H2"

    reply = await sent(client, address, fields | {"action-13": "REMOVE", "words-9": "Green & brown"})

    assert reply.headers["location"] == f"/ui/documents/{job}?show=outline&notice=outline"
    repaired = await library.output(job, RepairedTitles)
    assert (repaired.by, [(one.action, one.repaired_text) for one in repaired.headings]) == (
        DecidedBy.USER,
        [("NO_CHANGE", "Tea"), ("H2", "Green & brown"), ("REMOVE", None)],
    )
    await library.run(job)
    assert "Green &amp; brown <del>Leaves</del>" in (await see(client, f"/ui/documents/{job}")).text

    same = form(await see(client, f"/ui/documents/{job}"), address)
    assert (await sent(client, address, same)).headers["location"] == f"/ui/documents/{job}?show=outline"
    assert await library.value("SELECT attempts FROM stage_run WHERE job_id = $1 AND stage = 'repair'", job) == 2


async def test_a_reply_is_pasted_and_one_that_cannot_be_used_stays_in_its_field(
    client: httpx.AsyncClient, connection: Connection, library: Library, job: int
) -> None:
    address = f"/ui/documents/{job}/outline/pasted"
    page = await see(client, f"/ui/documents/{job}")
    first_line, *_ = (await decision_prompt(connection, job, "repair")).splitlines()
    assert first_line in page.text

    refused = await sent(client, address, form(page, address) | {"reply": "Gladly!"}, status=422)
    assert form(refused, address)["reply"].strip() == "Gladly!"

    lines = "5 : H1 : Tea\n9 : H2 : Leaves\n13 : REMOVE : References"
    await sent(client, address, form(page, address) | {"reply": lines})
    assert (await library.output(job, RepairedTitles)).by is DecidedBy.PASTED


async def test_an_original_is_a_download_unless_it_is_a_pdf(
    client: httpx.AsyncClient, library: Library, app: FastAPI
) -> None:
    files = {"a.html": b"<!DOCTYPE html><html><script>alert(1)</script>", "tea time.pdf": b"%PDF-1.7 nothing"}
    documents = [WorkFile(name, content, name) for name, content in files.items()]
    into = ImportRequest(corpus="library", chunk_tokens=0)
    (submitted,) = (await import_files(library.database, into, documents, library.settings())).submitted
    run_id = submitted.run_id
    ids = await library.value("SELECT array_agg(id ORDER BY ordinal) FROM job WHERE run_id = $1", run_id)

    page, pdf = [await client.get(f"/ui/documents/{job_id}/original", headers=HTML) for job_id in ids]

    assert (page.content, pdf.content) == tuple(files.values())
    assert [reply.headers["content-type"] for reply in (page, pdf)] == ["application/octet-stream", "application/pdf"]
    assert page.headers["content-disposition"] == "attachment; filename*=UTF-8''a.html"
    assert pdf.headers["content-disposition"] == "inline; filename*=UTF-8''tea%20time.pdf"
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "sandbox" in page.headers["content-security-policy"]
    for reply in (page, pdf):
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'self'" in reply.headers["content-security-policy"]

    listed = await see(client, f"/ui/runs/{run_id}")
    assert all(name in words(listed) for name in ("import of documents", *files, "2 documents"))


async def test_the_second_page_of_a_text_begins_with_its_first_line(client: httpx.AsyncClient) -> None:
    text = "# Tea\n\n" + "".join(f"line {number}\n" for number in range(3, PAGE_LINES + 3))
    work = (await imported(client, tea=text))["files"][0]["work_id"]

    page = await see(client, f"/ui/works/{work}?show=text&part=2")

    shown = re.findall(r'<li id="L(\d+)".*?<code>(.*?)</code>', page.text)
    assert shown == [(str(number), f"line {number}") for number in (PAGE_LINES + 1, PAGE_LINES + 2)]
