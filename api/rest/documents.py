"""Documents: their headings and sections, changed, and computed again; and the works that came of them."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field

from api.context import Context
from api.parameters import PathId
from api.rest.base import Body, Reply, with_example
from schemas.values.base import Text
from schemas.values.documents import ListedChunks, WorkView
from schemas.values.requests import ChunksWanted
from services import documents
from services.documents import DocumentView, Edited, document_text, document_view
from stages.documents.outline import MOST_CHARS
from store.corpora import works


class DocumentMarkdownReply(Reply):
    """The markdown of a document."""

    job_id: int = Field(examples=[34])
    markdown: str = Field(repr=False, examples=["# Tea\n\nTea is a drink.\n"])


class DocumentPromptReply(Reply):
    """A prompt for any model."""

    job_id: int = Field(examples=[34])
    prompt: str = Field(repr=False, examples=["A document was converted, and these headings were found in it."])


class PastedBody(Body):
    """The reply of an external model: a line for each heading."""

    model_config = with_example(reply="12 : H2 : Oxidation\n40 : REMOVE : Page 31")

    reply: Annotated[Text, Field(min_length=1, max_length=MOST_CHARS, repr=False)]


router = APIRouter(tags=["documents"])

Step = Annotated[Literal["repair", "selection"], Path(examples=["repair"])]


@router.get("/documents/{job_id}")
async def show_document(job_id: PathId, ctx: Context) -> DocumentView:
    """A document by its job, also before it is a work."""
    return await ctx.database.once(document_view, job_id=job_id)


@router.get("/documents/{job_id}/markdown")
async def read_markdown(job_id: PathId, ctx: Context) -> DocumentMarkdownReply:
    """Sanitised, or as it was converted when it is no further."""
    markdown, _ = await ctx.database.once(document_text, job_id=job_id)
    return DocumentMarkdownReply(job_id=job_id, markdown=markdown)


@router.get("/documents/{job_id}/{step}/prompt")
async def show_document_prompt(job_id: PathId, step: Step, ctx: Context) -> DocumentPromptReply:
    """The prompt by which any model repairs the headings, or selects the sections; its reply is pasted."""
    prompt = await ctx.database.once(documents.decision_prompt, job_id, step)
    return DocumentPromptReply(job_id=job_id, prompt=prompt)


@router.post("/documents/{job_id}/{step}/reply")
async def paste_document_reply(job_id: PathId, step: Step, body: PastedBody, ctx: Context) -> Edited:
    """Store what a reply makes of every heading, `NUMBER : ACTION : TEXT`, or which sections it selects, `NUMBER :
    SKIP` or `NUMBER : VECTORIZE`; the stages after it run again."""
    return await ctx.database.once(documents.edit, job_id, step, reply=body.reply)


works_router = APIRouter(prefix="/works", tags=["corpora"])


@works_router.get("/{work_id:int}")
async def show_work(work_id: PathId, ctx: Context) -> WorkView:
    """A work: its bibliography, and its headings with their lines."""
    return await ctx.database.once(works.work, work_id)


@works_router.get("/{work_id:int}/chunks")
async def list_chunks(work_id: PathId, ctx: Context, wanted: Annotated[ChunksWanted, Query()]) -> ListedChunks:
    """The content chunks in the order of the text."""
    return await ctx.database.once(works.chunks, work_id, wanted)
