"""`/works/{id}`: a work with its headings and chunks, or its text by lines."""

from collections import defaultdict
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from api.context import Context
from api.parameters import MAX_ID, PathId
from api.rendering import page
from api.routes import PageRoute
from schemas.values.corpora import Bibliography
from stages.corpora.cut import pages_of
from stages.corpora.lines import lines_of
from store.corpora import document_jobs, work_view, works
from store.corpora.work_view import WorkHeading

PAGE_CHUNKS: Final = 20
PAGE_LINES: Final = 500

#: Fields that the head of the page shows; the others are in a list below it.
_IN_HEAD: Final = ("title", "authors", "year", "abstract")

router = APIRouter(route_class=PageRoute, include_in_schema=False)

Part = Annotated[int, Query(ge=1, le=1_000_000)]


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
    chunks, lines = [], []
    async with ctx.database.connection() as connection:
        work = await work_view.work(connection, work_id)
        headings = await work_view.headings(connection, work_id)
        made_by = await document_jobs.job_of_work(connection, work_id)
        page_lines = await works.page_lines(connection, work_id)
        if show == "text":
            lines = lines_of(await works.markdown(connection, work_id) or "")
            count, size = len(lines), PAGE_LINES
        else:
            count, size = await work_view.count_chunks(connection, work_id, section=heading), PAGE_CHUNKS
            offset = (part - 1) * size
            chunks = await work_view.chunks(connection, work, section=heading, limit=size, offset=offset)
    inside: dict[int | None, list[WorkHeading]] = defaultdict(list)
    for one in headings:
        inside[one.parent_id].append(one)
    return page(
        request,
        "work.html.j2",
        work=work,
        made_by=made_by,
        pages={chunk.id: pages_of(page_lines, chunk.start_line, chunk.end_line) for chunk in chunks},
        described={
            name: getattr(work, name)
            for name in Bibliography.model_fields
            if name not in _IN_HEAD and getattr(work, name) is not None
        },
        inside=inside,
        section=next((one for one in headings if one.id == heading), None),
        show=show,
        chunks=chunks,
        lines=lines[(part - 1) * size : part * size],
        first_line=(part - 1) * size + 1,
        count=count,
        part=part,
        parts_of_list=-(-count // size),
    )
