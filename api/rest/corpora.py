"""Corpora: the collections of works that questions search; their works, and imports of works."""

from typing import Annotated, Final

from fastapi import APIRouter, File, Query, Response, UploadFile
from pydantic import ConfigDict, Field

from api.context import Context
from api.parameters import PathId
from api.rest.base import Body, Reply, StrictRoute, with_example
from api.work_uploads import MAX_FILES, import_uploaded
from schemas.values.base import Text
from schemas.values.documents import CorpusSize, CorpusView, ListedWorks
from schemas.values.requests import ImportRequest, WorksWanted
from services.corpora import delete_corpus
from services.corpora import remove_works as delete_works
from services.imports import Imported
from store.corpora import corpora, works
from store.corpora.works import WorkSource


class CorporaReply(Reply):
    """Every corpus, by name."""

    corpora: list[CorpusSize]


class ImportForm(ImportRequest):
    """Files to import into a corpus, which is made if there is none of this name."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    files: Annotated[list[UploadFile], Field(min_length=1, max_length=MAX_FILES)]
    """The name of each identifies its work: another text of this name replaces it."""


#: Works of one removal.
MAX_REMOVED: Final = 1000

#: Every reader of JSON keeps whole numbers exactly up to here.
_MOST: Final = 2**53 - 1


class RemoveWorksBody(Body):
    """Works to remove from a corpus."""

    model_config = with_example(work_ids=[9])

    work_ids: Annotated[
        list[Annotated[int, Field(ge=1, le=_MOST)]], Field(min_length=1, max_length=MAX_REMOVED, examples=[[9]])
    ]


class RemovedWorksReply(Reply):
    """The works that were removed."""

    removed: list[WorkSource]


router = APIRouter(prefix="/corpora", tags=["corpora"], route_class=StrictRoute)


@router.get("")
async def list_corpora(ctx: Context, name: Annotated[Text | None, Query(examples=["default"])] = None) -> CorporaReply:
    """Every corpus, by name; or that of one name."""
    found = await ctx.database.once(corpora.sizes)
    return CorporaReply(corpora=[size for size in found if name in (None, size.name)])


@router.get("/{corpus_id:int}")
async def show_corpus(corpus_id: PathId, ctx: Context) -> CorpusView:
    """A corpus: the model that embeds it, and what is in it."""
    return await ctx.database.once(corpora.view, corpus_id)


@router.delete("/{corpus_id:int}", status_code=204)
async def remove_corpus(corpus_id: PathId, ctx: Context) -> None:
    """Delete a corpus: its works, chunks and vectors, and every question asked of it with its answers.

    409 while a stage of one of these questions is running; nothing is deleted then.
    """
    async with ctx.database.connection() as connection:
        await corpora.corpus(connection, corpus_id)
        await delete_corpus(connection, corpus_id)


@router.get("/{corpus_id:int}/works")
async def list_works(corpus_id: PathId, ctx: Context, wanted: Annotated[WorksWanted, Query()]) -> ListedWorks:
    """The works by title."""
    async with ctx.database.connection() as connection:
        await corpora.corpus(connection, corpus_id)
        return await works.listed(connection, corpus_id, wanted)


@router.post("/files", status_code=201, responses={200: {"model": Imported}})
async def import_files(form: Annotated[ImportForm, File()], ctx: Context, response: Response) -> Imported:
    """Store files of a form (`multipart/form-data`) as works of a corpus, and submit the run that embeds their chunks.

    All of them are read before any is stored: 422 `works-unusable` names each that cannot be a work. A text that
    another work has is refused by itself. Files of other formats than markdown become works by the stages of a
    document; `documents` has their run. `Location` is the corpus; `run_id` is the run to follow.
    """
    imported = await import_uploaded(ctx, form, form.files, is_whole=True)
    response.status_code = 201 if imported.has_changes else 200
    response.headers["Location"] = f"{router.prefix}/{imported.corpus_id}"
    return imported


@router.post("/{corpus_id:int}/works/remove")
async def remove_works(corpus_id: PathId, body: RemoveWorksBody, ctx: Context) -> RemovedWorksReply:
    """Delete works, with their chunks and vectors: all that are named, or none.

    404 lists numbers that are no such work of the corpus, as after a removal that is sent again; nothing is removed
    then. Answers that cite a removed work keep their text.
    """
    async with ctx.database.connection() as connection:
        await corpora.corpus(connection, corpus_id)
        removed = await delete_works(connection, corpus_id, body.work_ids)
    return RemovedWorksReply(removed=removed)
