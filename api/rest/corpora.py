"""Corpora: the collections of works that questions search; their works, and the documents that these are made from."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal
from urllib.parse import quote

from fastapi import APIRouter, File, Path, Query, Response, UploadFile
from pydantic import ConfigDict, Field
from starlette import datastructures

from api.context import ApiContext, Context
from api.parameters import Body, PathId, StrictRoute, base_name, with_example
from schemas.values.base import MAX_ID, Listed, Text
from schemas.values.documents import CorpusChunk, CorpusView, DocumentView
from schemas.values.requests import ChunksWanted, ImportRequest
from services import documents
from services.corpora import delete_corpus, values_for_import
from services.corpora import remove_works as delete_works
from services.documents import document_view
from services.imports import Imported, WorkFile
from services.imports import import_files as import_works
from stages.documents.outline import MOST_CHARS
from store.corpora import corpora, works

#: Files of one import; more take further imports.
MAX_FILES: Final = 200


class ImportForm(ImportRequest):
    """Files to import into a corpus, which is made if there is none of this name."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    files: Annotated[list[UploadFile], Field(min_length=1, max_length=MAX_FILES)]
    """The name of each identifies its work: another text of this name replaces it."""


def relative_name(name: str) -> str:
    """The name by which a file identifies its work: with the folders that were sent, and without those of a machine.

    >>> relative_name("teas\\\\green\\\\tea.md"), relative_name("/home/me/tea.md"), relative_name("../teas/tea.md")
    ('teas/green/tea.md', 'tea.md', 'teas/tea.md')
    """
    path = name.replace("\\", "/")
    if path.startswith("/") or path[1:3] == ":/":
        return base_name(path)
    return "/".join(part for part in path.split("/") if part not in ("", ".", ".."))


async def import_uploaded(
    ctx: ApiContext, request: ImportRequest, files: Sequence[datastructures.UploadFile], *, is_whole: bool
) -> Imported:
    """Import files of a form with the settings of this machine, and the embedder of the corpus where there is one.

    `is_whole` and errors are those of `import_files`.
    """
    names = [relative_name(file.filename or "") for file in files]
    read = [WorkFile(name, await file.read(), name) for name, file in zip(names, files, strict=True)]
    settings = ctx.run_settings(values=await ctx.database.once(values_for_import, request.corpus))
    return await import_works(ctx.database, request, read, settings, is_whole=is_whole)


#: Works of one removal.
MAX_REMOVED: Final = 1000


class RemoveWorksBody(Body):
    """Works to remove from a corpus."""

    model_config = with_example(work_ids=[9])

    work_ids: Annotated[
        list[Annotated[int, Field(ge=1, le=MAX_ID)]], Field(min_length=1, max_length=MAX_REMOVED, examples=[[9]])
    ]


router = APIRouter(prefix="/corpora", tags=["corpora"], route_class=StrictRoute)


@router.get("")
async def list_corpora(
    ctx: Context, name: Annotated[Text | None, Query(examples=["default"])] = None
) -> Listed[CorpusView]:
    """Every corpus, by name, or that of one name: the model that embeds it, and what is in it."""
    found = await ctx.database.once(corpora.views)
    return Listed.whole([one for one in found if name in (None, one.name)])


@router.delete("/{corpus_id:int}", status_code=204)
async def remove_corpus(corpus_id: PathId, ctx: Context) -> None:
    """Delete a corpus: its works, chunks and vectors, and every question asked of it with its answers.

    409 while a stage of one of these questions is running; nothing is deleted then.
    """
    await ctx.database.once(delete_corpus, corpus_id)


@router.post("/files", status_code=201, responses={200: {"model": Imported}})
async def import_files(form: Annotated[ImportForm, File()], ctx: Context, response: Response) -> Imported:
    """Store files of a form (`multipart/form-data`) as works of a corpus, and submit the run that embeds their chunks.

    All of them are read before any is stored: 422 `works-unusable` names each that cannot be a work. A text that
    another work has is refused by itself. Files of other formats than markdown become works by the stages of a
    document, in the run `documents_run_id`. `Location` has the works of the corpus; `run_id` is the run to follow.
    """
    imported = await import_uploaded(ctx, form, form.files, is_whole=True)
    response.status_code = 201 if imported.has_changes else 200
    response.headers["Location"] = f"/corpus/works?corpus={quote(imported.corpus)}"
    return imported


@router.post("/{corpus_id:int}/works/remove", status_code=204)
async def remove_works(corpus_id: PathId, body: RemoveWorksBody, ctx: Context) -> None:
    """Delete works, with their chunks and vectors: all that are named, or none.

    404 lists numbers that are no such work of the corpus, as after a removal that is sent again; nothing is removed
    then. Answers that cite a removed work keep their text.
    """
    await ctx.database.once(delete_works, corpus_id, body.work_ids)


works_router = APIRouter(prefix="/works", tags=["corpora"])


@works_router.get("/{work_id:int}/chunks")
async def list_chunks(work_id: PathId, ctx: Context, wanted: Annotated[ChunksWanted, Query()]) -> Listed[CorpusChunk]:
    """The content chunks in the order of the text."""
    return await ctx.database.once(works.chunks, work_id, wanted)


class PastedBody(Body):
    """The reply of an external model: a line for each heading."""

    model_config = with_example(reply="12 : H2 : Oxidation\n40 : REMOVE : Page 31")

    reply: Annotated[Text, Field(min_length=1, max_length=MOST_CHARS, repr=False)]


documents_router = APIRouter(prefix="/documents", tags=["documents"])

Step = Literal["repair", "selection"]


@documents_router.get("/{job_id}")
async def show_document(
    job_id: PathId, ctx: Context, prompt: Annotated[Step | None, Query(examples=["repair"])] = None
) -> DocumentView:
    """A document by its job, also before it is a work; with the prompt by which any model repairs its headings, or
    selects its sections, if that is asked for. Its reply is pasted."""
    async with ctx.database.connection() as connection:
        view = await document_view(connection, job_id=job_id)
        words = None if prompt is None else await documents.decision_prompt(connection, job_id, prompt)
        return view.model_copy(update={"prompt": words})


@documents_router.post("/{job_id}/{step}/reply")
async def paste_document_reply(
    job_id: PathId, step: Annotated[Step, Path(examples=["repair"])], body: PastedBody, ctx: Context
) -> DocumentView:
    """Store what a reply makes of every heading, `NUMBER : ACTION : TEXT`, or which sections it selects, `NUMBER :
    SKIP` or `NUMBER : VECTORIZE`; the stages after it run again."""
    await ctx.database.once(documents.edit, job_id, step, body.reply)
    return await ctx.database.once(document_view, job_id=job_id)
