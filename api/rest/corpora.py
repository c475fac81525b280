"""Corpora: the collections of works that questions search; their works, and imports of works."""

from typing import Annotated

from fastapi import APIRouter, File, Query, Response

from api.context import Context
from api.parameters import PathId, next_offset
from api.rest.bodies.base import StrictRoute
from api.rest.bodies.documents import (
    CorporaReply,
    CorpusReply,
    ImportBody,
    ImportForm,
    ImportReply,
    WorkLine,
    WorksReply,
)
from api.work_uploads import import_requested, uploaded
from schemas.values.base import Text
from schemas.values.requests import WorksWanted
from services.corpora import corpus_loss, delete_corpus
from services.documents import listed_documents
from services.imports import ImportedFiles
from store.corpora import corpora, works
from store.corpora.chunk_search import find_index

router = APIRouter(prefix="/corpora", tags=["corpora"], route_class=StrictRoute)


@router.get("")
async def list_corpora(ctx: Context, name: Annotated[Text | None, Query(examples=["default"])] = None) -> CorporaReply:
    """Every corpus, by name; or that of one name."""
    found = await ctx.database.once(corpora.sizes)
    return CorporaReply(corpora=[size for size in found if name in (None, size.name)])


@router.get("/{corpus_id:int}")
async def show_corpus(corpus_id: PathId, ctx: Context) -> CorpusReply:
    """A corpus: the model that embeds it, and what is in it."""
    async with ctx.database.connection() as connection:
        corpus = await corpora.corpus(connection, corpus_id)
        content = await corpora.content(connection, corpus_id)
        loss = await corpus_loss(connection, corpus, content)
        index = await find_index(connection, corpus_id)
    return CorpusReply(
        **dict(corpus),
        **dict(content),
        questions=loss.questions,
        answers=loss.answers,
        has_vector_index=index is not None and index.has_index,
    )


@router.delete("/{corpus_id:int}", status_code=204)
async def remove_corpus(corpus_id: PathId, ctx: Context) -> None:
    """Delete a corpus: its works, chunks and vectors, and every question asked of it with its answers.

    409 while a stage of one of these questions is running; nothing is deleted then.
    """
    async with ctx.database.connection() as connection:
        await corpora.corpus(connection, corpus_id)
        await delete_corpus(connection, corpus_id)


@router.get("/{corpus_id:int}/works")
async def list_works(corpus_id: PathId, ctx: Context, wanted: Annotated[WorksWanted, Query()]) -> WorksReply:
    """The works by title."""
    async with ctx.database.connection() as connection:
        await corpora.corpus(connection, corpus_id)
        found = await listed_documents(connection, corpus_id, **dict(wanted))
        total = await works.count(connection, corpus_id, search=wanted.search)
    return WorksReply(
        works=[WorkLine(**dict(one.work), job_id=one.job_id) for one in found],
        total=total,
        next_offset=next_offset(wanted.offset, len(found), total),
    )


@router.post("/works", status_code=201, responses={200: {"model": ImportReply}})
async def import_texts(body: ImportBody, ctx: Context, response: Response) -> ImportReply:
    """Store texts of markdown as works of a corpus, and submit the run that embeds their chunks.

    All of them are read before any is stored: 422 `works-unusable` names each that cannot be a work. A text that
    another work has is refused by itself. `Location` is the corpus; `run_id` is the run to follow.
    """
    files = [work.file for work in body.works]
    imported = await import_requested(ctx, body, files, profile=body.profile, values=body.values)
    return _replied(imported, response)


@router.post("/files", status_code=201, responses={200: {"model": ImportReply}})
async def import_files(form: Annotated[ImportForm, File()], ctx: Context, response: Response) -> ImportReply:
    """The same for files, as a form sends them (`multipart/form-data`).

    Files of other formats than markdown become works by the stages of a document; `documents` has their run.
    """
    return _replied(await import_requested(ctx, form, await uploaded(form.files)), response)


def _replied(imported: ImportedFiles, response: Response) -> ImportReply:
    response.status_code = 201 if imported.has_changes else 200
    response.headers["Location"] = f"{router.prefix}/{imported.works.corpus.id}"
    return ImportReply.of(imported)
