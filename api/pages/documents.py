"""`/ui/documents/{id}`: a document on its way to a work: its outline with what became of each heading, the original
beside the result, the sections that are skipped, and what is computed again.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from fastapi import Form, HTTPException, Query, Request
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Part, Typed, page_router
from api.parameters import PathId, base_name
from api.rendering import page
from api.security.headers import CONTENT_SECURITY_POLICY
from schemas.errors import LLMResponseParseError, MissingError, Refused, TemplateMissingError
from schemas.values.base import MAX_ID
from schemas.values.documents import Bibliography, CorpusChunk, DecidedBy, RepairAction, WorkHeading
from schemas.values.requests import ChunksWanted
from services import documents
from services.documents import document_job, document_text, document_view
from stages.corpora.blocks import lines_of
from stages.corpora.cut import pages_of
from stages.documents.outline import DocumentFormat, format_of
from stages.reports.tables import UI
from store.corpora import corpora, works
from store.runs.run_view import job_view

PAGE_HEADINGS: Final = 200
PAGE_LINES: Final = 300

#: The viewer of the original is a frame of the page.
FRAMING_POLICY: Final = f"{CONTENT_SECURITY_POLICY}; frame-src 'self'"

router = page_router(UI)

Show = Literal["outline", "text", "sections"]

TextLine = tuple[int, str, int | None]
"""Number and text of a line of markdown, and the page that begins here, or whose rest the first line shown is on."""

Decided = Literal["outline", "sections"]

#: What is decided on a part of the page.
_STEPS: Final[dict[str, str]] = {"outline": documents.REPAIR, "sections": documents.SELECT}

_SAVED: Final = "saved as an attempt of their stage; the stages after it run again."
NOTICES: Final = {"outline": f"The headings are {_SAVED}", "sections": f"The sections are {_SAVED}"}


@router.get("/documents/{job_id:int}")
async def document_page(
    request: Request, ctx: Context, job_id: PathId, show: Show = "outline", part: Part = 1
) -> Response:
    """The document as its stages left it."""
    return await _page(request, ctx, job_id, show, part)


@router.post("/documents/{job_id:int}/outline")
async def change_headings(request: Request, ctx: Context, job_id: PathId) -> Response:
    """Store the repairs that the form changed: those whose fields differ from what they were filled in with."""
    fields = {name: str(value) for name, value in (await request.form()).items()}
    changed = [
        f"{line} : {action} : {' '.join(fields.get(f'words-{line}', '').split())}"
        for line, action in _numbered(fields, "action-")
        if (action, fields.get(f"words-{line}")) != (fields.get(f"was-{line}"), fields.get(f"read-{line}"))
    ]
    return await _edited(request, ctx, job_id, "outline", "\n".join(changed), by=DecidedBy.USER)


@router.post("/documents/{job_id:int}/sections")
async def change_sections(request: Request, ctx: Context, job_id: PathId) -> Response:
    """Store which of the listed sections are embedded."""
    fields = {name: str(value) for name, value in (await request.form()).items()}
    changed = [
        f"{line} : {'VECTORIZE' if f'embed-{line}' in fields else 'SKIP'}"
        for line, was in _numbered(fields, "was-")
        if (was == "true") != (f"embed-{line}" in fields)
    ]
    return await _edited(request, ctx, job_id, "sections", "\n".join(changed), by=DecidedBy.USER)


@router.post("/documents/{job_id:int}/{show}/pasted")
async def paste(
    request: Request, ctx: Context, job_id: PathId, show: Decided, reply: Annotated[Typed, Form()] = ""
) -> Response:
    """Store what the pasted reply of an external model makes of the headings, or which sections it selects."""
    return await _edited(request, ctx, job_id, show, reply, by=DecidedBy.PASTED)


async def _edited(
    request: Request, ctx: ApiContext, job_id: int, show: Decided, reply: str, *, by: DecidedBy
) -> Response:
    address = f"{UI}/documents/{job_id}?show={show}"
    is_pasted = by is DecidedBy.PASTED
    if not (reply or is_pasted):
        return RedirectResponse(address, 303)
    try:
        await ctx.database.once(documents.edit, job_id, _STEPS[show], reply, by=by)
    except (Refused, LLMResponseParseError) as error:
        return await _page(request, ctx, job_id, show, wrong={"form": str(error)}, pasted=reply if is_pasted else "")
    return RedirectResponse(f"{address}&notice={show}", 303)


async def _page(request: Request, ctx: ApiContext, job_id: int, show: Show, part: int = 1, **shown: Any) -> Response:
    lines, all_lines = list[TextLine](), 0
    prompt: str | None = None
    async with ctx.database.connection() as connection:
        view = await document_view(connection, job_id=job_id)
        job = await job_view(connection, job_id)
        if show == "text":
            with suppress(MissingError):
                lines, all_lines = _part(*await document_text(connection, job_id=job_id), part)
        else:
            with suppress(MissingError, TemplateMissingError):
                prompt = await documents.decision_prompt(connection, job_id, _STEPS[show])
    headings = [heading for heading in view.headings if show == "outline" or heading.embeds is not None]
    size, count = (PAGE_LINES, all_lines) if show == "text" else (PAGE_HEADINGS, len(headings))
    shown = {"pasted": ""} | shown
    return page(
        request,
        "document.html.j2",
        notices=NOTICES,
        headers={"Content-Security-Policy": FRAMING_POLICY},
        view=view,
        job=job,
        lines=lines,
        prompt=prompt,
        show=show,
        headings=headings[(part - 1) * size : part * size],
        actions=list(RepairAction),
        part=part,
        parts_of_list=-(-count // size),
        **shown,
    )


def _part(markdown: str, page_lines: Sequence[int], part: int) -> tuple[list[TextLine], int]:
    """A part of a text, and the number of all its lines."""
    lines = lines_of(markdown)
    begins = {line: number for number, line in enumerate(page_lines, start=1)}
    first = (part - 1) * PAGE_LINES + 1
    if pages := pages_of(page_lines, first, first):
        begins.setdefault(first, pages[0])
    shown = enumerate(lines[first - 1 :][:PAGE_LINES], first)
    return [(number, text, begins.get(number)) for number, text in shown], len(lines)


def _numbered(fields: Mapping[str, Any], prefix: str) -> list[tuple[str, str]]:
    """The fields of this prefix and a number of a line, by the number."""
    found = ((name.removeprefix(prefix), value) for name, value in fields.items() if name.startswith(prefix))
    return [(line, value) for line, value in found if line.isascii() and line.isdecimal() and len(line) < 10]


PAGE_CHUNKS: Final = 20

#: Fields that the head of the page shows; the others are in a list below it.
_IN_HEAD: Final = ("title", "authors", "year", "abstract")


@router.get("/works/{work_id:int}")
async def work_page(
    request: Request,
    ctx: Context,
    work_id: PathId,
    show: Literal["chunks", "text"] = "chunks",
    heading: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
    line: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    part: Part = 1,
) -> Response:
    """The headings, and a part of the chunks, of one section where it is named; or a part of the text, that with a line
    where it is named."""
    if line is not None:
        show, part = "text", (line - 1) // PAGE_LINES + 1
    chunks: tuple[CorpusChunk, ...] = ()
    lines, size = list[TextLine](), PAGE_LINES
    async with ctx.database.connection() as connection:
        work = await works.work(connection, work_id)
        if show == "text":
            lines, count = _part(*await works.text(connection, work_id), part)
        else:
            size = PAGE_CHUNKS
            wanted = ChunksWanted(heading=heading, limit=size, offset=(part - 1) * size)
            listed = await works.chunks(connection, work_id, wanted)
            chunks, count = listed.items, listed.total or 0
    inside: dict[int | None, list[WorkHeading]] = defaultdict(list)
    for one in work.headings:
        inside[one.parent_id].append(one)
    return page(
        request,
        "work.html.j2",
        work=work,
        pages={chunk.id: pages_of(work.page_lines, chunk.start_line, chunk.end_line) for chunk in chunks},
        described={
            name: getattr(work, name)
            for name in Bibliography.model_fields
            if name not in _IN_HEAD and getattr(work, name) is not None
        },
        inside=inside,
        section=next((one for one in work.headings if one.id == heading), None),
        show=show,
        chunks=chunks,
        lines=lines,
        count=count,
        part=part,
        parts_of_list=-(-count // size),
    )


#: Nothing of the file runs, is loaded or submitted. Only pages of this site frame it.
_POLICY: Final = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; {}frame-ancestors 'self'"


@router.get("/documents/{job_id:int}/original")
async def of_document(ctx: Context, job_id: PathId) -> Response:
    """The file of a document."""
    async with ctx.database.connection() as connection:
        job = await document_job(connection, job_id)
        content = await corpora.original(connection, job.inputs["original"])
    return _served(content, job.inputs["name"])


@router.get("/works/{work_id:int}/original")
async def of_work(ctx: Context, work_id: PathId) -> Response:
    """The file that a work was made from."""
    async with ctx.database.connection() as connection:
        work = await works.work(connection, work_id)
        if work.original_hash is None:
            raise HTTPException(404, f"Work {work_id} was made from no other file; {UI}/works/{work_id} has its text.")
        content = await corpora.original(connection, work.original_hash)
    return _served(content, base_name(work.source_path))


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
