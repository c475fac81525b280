"""`/ui/corpora`: the corpora; one of them with its works; the button that deletes it."""

from typing import Annotated, Any, Final

from fastapi import Query, Request
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.pages.forms import Part, Sent, by_field, fields_of, given, page_router
from api.parameters import PathId, SearchWords
from api.rendering import page
from api.rest.corpora import MAX_FILES, import_uploaded
from schemas.errors import Refused, WorkFilesError
from schemas.full_text import language_words
from schemas.values.base import Text
from schemas.values.requests import ImportRequest, WorksWanted
from services.corpora import corpus_loss, delete_corpus, embedding_loss
from stages.documents.outline import SUFFIXES
from stages.reports.tables import UI
from store.corpora import corpora, works
from store.corpora.keeping import ImportOutcome
from store.runs import overviews

PAGE_WORKS: Final = 50
SHOWN_RUNS: Final = 3

router = page_router(UI)


@router.get("/corpora")
async def corpora_page(request: Request, ctx: Context, name: Text | None = None) -> Response:
    """Every corpus with its numbers; with `name`, redirects to the corpus of that name where there is one."""
    async with ctx.database.connection() as connection:
        named = None if name is None else await corpora.find(connection, name)
        if named is not None:
            return RedirectResponse(f"{UI}/corpora/{named.id}", 303)
        rows = await corpora.views(connection)
    return page(request, "corpora.html.j2", rows=rows, missing=name)


@router.get("/corpora/{corpus_id:int}")
async def corpus_page(
    request: Request,
    ctx: Context,
    corpus_id: PathId,
    search: SearchWords = "",
    part: Part = 1,
    imported: Annotated[int | None, Query(ge=0, lt=2**31)] = None,
) -> Response:
    """A corpus: its embedder, its numbers, the newest runs that embed it, and a part of its works. `imported`
    is how many the last import stored."""
    search = search.strip()
    async with ctx.database.connection() as connection:
        corpus = await corpora.view(connection, corpus_id)
        run_ids = await corpora.embedding_runs(connection, corpus_id, limit=SHOWN_RUNS)
        runs = [await overviews.get(connection, run_id) for run_id in run_ids]
        wanted = WorksWanted(search=search, limit=PAGE_WORKS, offset=(part - 1) * PAGE_WORKS)
        listed = await works.listed(connection, corpus_id, wanted)
    return page(
        request,
        "corpus.html.j2",
        corpus=corpus,
        loss=corpus_loss(corpus),
        language_words=language_words,
        unseen=embedding_loss(corpus),
        index_from=ctx.run_settings().run.ragq.hnsw_from_chunks,
        runs=runs,
        listed=listed,
        search=search,
        part=part,
        parts_of_list=-(-(listed.total or 0) // PAGE_WORKS),
        imported=imported,
    )


@router.post("/corpora/{corpus_id:int}/delete")
async def delete(ctx: Context, corpus_id: PathId) -> Response:
    """Delete the corpus with everything in it, and the questions that were asked of it."""
    await ctx.database.once(delete_corpus, corpus_id)
    return RedirectResponse(f"{UI}/corpora", 303)


@router.get("/works/new")
async def new_page(request: Request, ctx: Context, corpus: Text = "") -> Response:
    """The form for a corpus; without one, for a new corpus."""
    return await _form(request, ctx, FormData(corpus=corpus, is_new=str(not corpus)))


@router.post("/works/new")
async def import_files(request: Request, ctx: Context, form: Sent) -> Response:
    """Import the files and open the corpus, or show what is wrong, file by file."""
    # A browser sends one without a name when none was chosen.
    files = [file for file in form.getlist("files") if isinstance(file, UploadFile) and file.filename]
    if not files:
        return await _form(request, ctx, form, wrong={"files": "Choose at least one file."})
    if len(files) > MAX_FILES:
        too_many = f"One import takes {MAX_FILES} files; import the others afterwards."
        return await _form(request, ctx, form, wrong={"files": too_many})
    try:
        asked = ImportRequest(**{"corpus": ""} | given(ImportRequest, form))
        imported = await import_uploaded(ctx, asked, files, is_whole=False)
    except WorkFilesError as error:
        return await _form(request, ctx, form, status=422, refused=error.files.values())
    except (Refused, ValidationError) as error:
        return await _form(request, ctx, form, wrong=by_field(error))
    if imported.refused:
        return await _form(request, ctx, form, refused=imported.refused, imported=imported)
    if imported.documents_run_id is not None:
        return RedirectResponse(f"{UI}/runs/{imported.documents_run_id}", 303)
    stored = imported.outcomes[ImportOutcome.NEW] + imported.outcomes[ImportOutcome.REPLACED]
    return RedirectResponse(f"{UI}/corpora/{imported.corpus_id}?imported={stored}", 303)


async def _form(request: Request, ctx: ApiContext, form: FormData, **shown: Any) -> Response:
    is_new = form.get("is_new") == "True"
    async with ctx.database.connection() as connection:
        found = None if is_new else await corpora.find(connection, str(form.get("corpus", "")))
    shown = {"refused": (), "imported": None} | shown
    return page(
        request,
        "import_works.html.j2",
        form=form,
        fields=fields_of(ImportRequest),
        is_new=is_new,
        corpus=found,
        endings=list(SUFFIXES),
        most_files=MAX_FILES,
        most_megabytes=f"{round(ctx.settings.ragq_api_max_upload_kb / 1024, 1):g}",
        **shown,
    )
