"""`/vocabularies`: the vocabularies; one of them with its tags and models; import by upload, and deletion."""

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Depends, File, Path, Query, Request, UploadFile
from pydantic import BaseModel
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.parameters import Text
from api.rendering import page
from api.routes import PageRoute
from api.security.csrf import csrf
from api.work_uploads import base_name
from schemas.errors import Refused
from services.estimates import estimate_vocabulary
from services.tags import vocabulary_of_name
from services.vocabularies import build_vocabulary, delete_vocabulary, keep_vocabulary, read_vocabulary
from stages.tags.vocabulary_files import FILES, TAGS_FILE
from store.vocabularies import contents, vocabularies

PAGE_TAGS: Final = 100

router = APIRouter(route_class=PageRoute, include_in_schema=False)

Name = Annotated[str, Path(pattern=r"^[^\x00/]{1,64}$")]


class VocabularyFiles(BaseModel):
    """The form as it was filled in."""

    name: Text = ""
    files: list[UploadFile] = []

    @property
    def chosen(self) -> list[UploadFile]:
        """The files; a browser sends one without a name when none was chosen."""
        return [file for file in self.files if file.filename]


@router.get("/vocabularies")
async def vocabularies_page(request: Request, ctx: Context) -> Response:
    """Every vocabulary with its size and its models, and the form for another."""
    return await _listed(request, ctx, VocabularyFiles())


@router.post("/vocabularies", dependencies=[Depends(csrf)])
async def import_files(request: Request, ctx: Context, form: Annotated[VocabularyFiles, File()]) -> Response:
    """Import the files and open the vocabulary; or show what is wrong."""
    if not form.chosen:
        return await _listed(
            request, ctx, form, wrong={"files": f"Choose {TAGS_FILE}, and the others if you have them."}
        )
    try:
        files = {base_name(file.filename or ""): await file.read() for file in form.chosen}
        vocabulary = await asyncio.to_thread(read_vocabulary, form.name.strip(), files)
    except Refused as error:
        return await _listed(request, ctx, form, wrong={"form": str(error)})
    async with ctx.database.connection() as connection:
        kept = await keep_vocabulary(connection, form.name.strip(), vocabulary)
    left_out = f"?unknown_ratings={kept.unknown_ratings}" if kept.unknown_ratings else ""
    return RedirectResponse(f"/vocabularies/{form.name.strip()}{left_out}", 303)


@router.get("/vocabularies/{name}")
async def vocabulary_page(
    request: Request,
    ctx: Context,
    name: Name,
    search: Annotated[Text, Query(max_length=200)] = "",
    part: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    unknown_ratings: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    estimate: bool = False,
) -> Response:
    """A vocabulary: its models, or what building them would do; a part of its tags; what an import left out."""
    search = search.strip()
    async with ctx.database.connection() as connection:
        vocabulary = await vocabulary_of_name(connection, name)
        tags, found = await contents.tags_part(
            connection, vocabulary.id, search=search, limit=PAGE_TAGS, offset=(part - 1) * PAGE_TAGS
        )
    settings = ctx.run_settings() if estimate else None
    estimated = None if settings is None else await estimate_vocabulary(ctx.database, name, settings, prices=ctx.prices)
    return page(
        request,
        "vocabulary.html.j2",
        vocabulary=vocabulary,
        tags=tags,
        found=found,
        search=search,
        part=part,
        parts_of_list=-(-found // PAGE_TAGS),
        unknown_ratings=unknown_ratings,
        estimate=estimated,
    )


@router.post("/vocabularies/{name}/models", dependencies=[Depends(csrf)])
async def build(ctx: Context, name: Name) -> Response:
    """Submit the run that builds the models, and open it."""
    built = await build_vocabulary(ctx.database, name, ctx.run_settings())
    return RedirectResponse(f"/runs/{built.run_id}", 303)


@router.post("/vocabularies/{name}/delete", dependencies=[Depends(csrf)])
async def delete(ctx: Context, name: Name) -> Response:
    """Delete the vocabulary with its models."""
    async with ctx.database.connection() as connection:
        await delete_vocabulary(connection, name)
    return RedirectResponse("/vocabularies", 303)


async def _listed(
    request: Request, ctx: ApiContext, form: VocabularyFiles, *, wrong: dict[str, str] | None = None
) -> Response:
    async with ctx.database.connection() as connection:
        found = await vocabularies.current(connection)
    return page(
        request,
        "vocabularies.html.j2",
        status=422 if wrong else 200,
        vocabularies=found,
        form=form,
        files=list(FILES),
        wrong=wrong or {},
    )
