"""The file that a document was converted from: a PDF for the browser's viewer, every other format as a download."""

from typing import Final
from urllib.parse import quote

from fastapi import APIRouter, HTTPException
from starlette.responses import Response

from api.context import Context
from api.parameters import PathId
from api.work_uploads import base_name
from services.documents import document_job
from stages.documents.formats import DocumentFormat, format_of
from store import originals
from store.corpora import works

router = APIRouter(include_in_schema=False)

#: Nothing of the file runs, is loaded or submitted. Only pages of this site frame it.
_POLICY: Final = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; {}frame-ancestors 'self'"


@router.get("/documents/{job_id:int}/original")
async def of_document(ctx: Context, job_id: PathId) -> Response:
    """The file of a document."""
    async with ctx.database.connection() as connection:
        job = await document_job(connection, job_id)
        content = await originals.content(connection, job.inputs["original"])
    return _served(content, job.inputs["name"])


@router.get("/works/{work_id:int}/original")
async def of_work(ctx: Context, work_id: PathId) -> Response:
    """The file that a work was made from."""
    async with ctx.database.connection() as connection:
        found = await works.original(connection, work_id)
        if found is None:
            raise HTTPException(404, f"Work {work_id} was made from no other file; its text is at /works/{work_id}.")
        named, path = found
        content = await originals.content(connection, named)
    return _served(content, base_name(path))


def _served(content: bytes, name: str) -> Response:
    # Browsers run what HTML and archives of it contain; a PDF has a viewer without scripts of the page.
    is_pdf = format_of(content, name) is DocumentFormat.PDF
    return Response(
        content,
        media_type="application/pdf" if is_pdf else "application/octet-stream",
        headers={
            "Content-Disposition": f"{'inline' if is_pdf else 'attachment'}; filename*=UTF-8''{quote(name, safe='')}",
            "Content-Security-Policy": _POLICY.format("" if is_pdf else "sandbox; "),
            "X-Frame-Options": "SAMEORIGIN",
        },
    )
