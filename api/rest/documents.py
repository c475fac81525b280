"""Documents: what became of their headings and sections, changed, and computed again."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query

from api.context import Context
from api.parameters import PathId, next_offset
from api.rest.bodies.documents import (
    ChunksReply,
    DocumentMarkdownReply,
    DocumentPromptReply,
    PastedBody,
    RepairChangesBody,
    SelectionChangesBody,
    WorkReply,
)
from schemas.values.documents import SelectionAction
from schemas.values.requests import ChunksWanted
from services import documents
from services.documents import DocumentTarget, DocumentView, Edited, document_markdown, document_view
from stages.documents.repair import Change
from store.corpora import works

router = APIRouter(tags=["documents"])

Step = Annotated[Literal["repair", "selection"], Path(examples=["repair"])]


@router.get("/works/{work_id:int}/document")
async def show_document_of_work(work_id: PathId, ctx: Context) -> DocumentView:
    """The headings of a work with what became of each, and the job that made it."""
    return await ctx.database.once(document_view, DocumentTarget(work_id=work_id))


@router.get("/documents/{job_id}")
async def show_document(job_id: PathId, ctx: Context) -> DocumentView:
    """A document by its job, also before it is a work."""
    return await ctx.database.once(document_view, DocumentTarget(job_id=job_id))


@router.get("/documents/{job_id}/markdown")
async def read_markdown(job_id: PathId, ctx: Context) -> DocumentMarkdownReply:
    """Sanitised, or as it was converted when it is no further."""
    markdown = await ctx.database.once(document_markdown, DocumentTarget(job_id=job_id))
    return DocumentMarkdownReply(job_id=job_id, markdown=markdown)


@router.get("/documents/{job_id}/{step}/prompt")
async def show_document_prompt(job_id: PathId, step: Step, ctx: Context) -> DocumentPromptReply:
    """The prompt by which any model repairs the headings, or selects the sections; its reply is pasted."""
    text = documents.repair_text if step == "repair" else documents.select_text
    return DocumentPromptReply(job_id=job_id, prompt=await ctx.database.once(text, job_id))


@router.post("/documents/{job_id}/{step}/reply")
async def paste_document_reply(job_id: PathId, step: Step, body: PastedBody, ctx: Context) -> Edited:
    """Store what a reply makes of every heading, `NUMBER : ACTION : TEXT`, or which sections it selects, `NUMBER :
    SKIP` or `NUMBER : VECTORIZE`; the stages after it run again."""
    paste = documents.paste_repair if step == "repair" else documents.paste_selection
    return await ctx.database.once(paste, job_id, body.reply)


@router.post("/documents/{job_id}/repair")
async def change_repairs(job_id: PathId, body: RepairChangesBody, ctx: Context) -> Edited:
    """Store what becomes of these headings, and leave the others as they are."""
    changes = {change.line: Change(change.action, change.text) for change in body.changes}
    return await ctx.database.once(documents.change_repairs, job_id, changes)


@router.post("/documents/{job_id}/selection")
async def change_selection(job_id: PathId, body: SelectionChangesBody, ctx: Context) -> Edited:
    """Store whether these sections are embedded, with what is inside and around them."""
    changes = {change.line: change.action is SelectionAction.VECTORIZE for change in body.changes}
    return await ctx.database.once(documents.change_selection, job_id, changes)


works_router = APIRouter(prefix="/works", tags=["corpora"])


@works_router.get("/{work_id:int}")
async def show_work(work_id: PathId, ctx: Context) -> WorkReply:
    """A work: its bibliography, and its headings with their lines."""
    async with ctx.database.connection() as connection:
        work = await works.work(connection, work_id)
        headings = await works.headings(connection, work_id)
    return WorkReply(**dict(work), headings=headings)


@works_router.get("/{work_id:int}/chunks")
async def list_chunks(work_id: PathId, ctx: Context, wanted: Annotated[ChunksWanted, Query()]) -> ChunksReply:
    """The content chunks in the order of the text."""
    async with ctx.database.connection() as connection:
        work = await works.work(connection, work_id)
        found = await works.chunks(connection, work, **dict(wanted))
        total = await works.count_chunks(connection, work_id, heading=wanted.heading)
    return ChunksReply(
        chunks=found,
        total=total,
        next_offset=next_offset(wanted.offset, len(found), total),
    )
