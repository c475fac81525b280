"""`/works/new`: files, uploaded into a corpus."""

from typing import Annotated

from fastapi import APIRouter, Depends, File, Request, UploadFile
from pydantic import BaseModel
from starlette.responses import RedirectResponse, Response

from api.context import ApiContext, Context
from api.parameters import Text
from api.rendering import page
from api.rest.bodies.corpora import MAX_FILES
from api.routes import PageRoute
from api.security.csrf import csrf
from api.work_uploads import ImportRequest, estimate_requested, import_requested, uploaded
from schemas.errors import Refused, WorkFilesError
from schemas.full_text import DICTIONARIES, OTHERS
from services.corpora import AS_IT_IS, DEFAULT_TOKENS, CorpusOptions
from services.import_estimates import ImportEstimates
from services.imports import ImportedFiles
from stages.documents.formats import SUFFIXES
from store.corpora import corpora
from store.corpora.keeping import ImportOutcome

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class ImportWorksForm(BaseModel):
    """The form as it was filled in; browsers empty the field of files."""

    corpus: Text = ""
    is_new: bool = False
    """The corpus is to be made, so that its options can be chosen."""
    embed_headings: bool = False
    chunk_tokens: Text = ""
    """Empty takes what was found to be the best."""
    language: Text = ""
    """Empty finds it in the works."""
    files: list[UploadFile] = []
    title: Text = ""
    authors: Text = ""
    year: Text = ""
    tags: Text = ""
    check: bool = False
    """Estimate instead of importing."""

    @property
    def chosen(self) -> list[UploadFile]:
        """The files; a browser sends one without a name when none was chosen."""
        return [file for file in self.files if file.filename]

    def given(self) -> dict[str, str]:
        """The fields of the bibliography that were filled in."""
        fields = {name: getattr(self, name).strip() for name in ("title", "authors", "year", "tags")}
        return {name: text for name, text in fields.items() if text}

    @property
    def options(self) -> CorpusOptions:
        """How a new corpus is read."""
        if not self.is_new:
            return AS_IT_IS
        return CorpusOptions(self.embed_headings, self.tokens, self.language)

    @property
    def tokens(self) -> int | None:
        """The most tokens of a chunk of a new corpus."""
        written = self.chunk_tokens.strip()
        return int(written) if self.is_new and written.isascii() and written.isdecimal() and len(written) < 7 else None

    def wrong(self) -> dict[str, str]:
        """What is wrong with the fields, by field."""
        year = self.year.strip()
        checks = {
            "corpus": (not self.corpus.strip(), "Name the corpus."),
            "files": (not self.chosen, "Choose at least one file."),
            "title": (len(self.chosen) > 1 and self.title.strip(), "A title is for one file; use front matter."),
            "chunk_tokens": (self.chunk_tokens.strip() and self.tokens is None, "Write a whole number, or nothing."),
            "year": (year and not year.removeprefix("-").isdecimal(), "Write the year as a whole number."),
        }
        if len(self.chosen) > MAX_FILES:
            checks["files"] = (True, f"One import takes {MAX_FILES} files; import the others afterwards.")
        return {field: message for field, (is_wrong, message) in checks.items() if is_wrong}


@router.get("/works/new")
async def new_page(request: Request, ctx: Context, corpus: Text = "") -> Response:
    """The form for a corpus; without one, for a new corpus."""
    return await _form(request, ctx, ImportWorksForm(corpus=corpus, is_new=not corpus, embed_headings=True))


@router.post("/works/new", dependencies=[Depends(csrf)])
async def import_files(request: Request, ctx: Context, form: Annotated[ImportWorksForm, File()]) -> Response:
    """Import the files and open the corpus; or estimate that; or show what is wrong, file by file."""
    wrong = form.wrong()
    if wrong:
        return await _form(request, ctx, form, wrong=wrong)
    corpus = form.corpus.strip()
    try:
        files = await uploaded(form.chosen, form.given())
        asked = ImportRequest(corpus=corpus, files=files, options=form.options, passes_over=True)
        if form.check:
            return await _form(request, ctx, form, estimates=await estimate_requested(ctx, asked))
        imported = await import_requested(ctx, asked)
    except WorkFilesError as error:
        return await _form(request, ctx, form, unusable=[str(one) for one in error.files.values()])
    except Refused as error:
        return await _form(request, ctx, form, wrong={"form": str(error)})
    works, documents = imported.works, imported.documents
    if works.refused or imported.refused or imported.latin1:
        return await _form(request, ctx, form, imported=imported)
    if documents is not None and documents.submitted is not None:
        return RedirectResponse(f"/runs/{documents.submitted.run_id}", 303)
    counts = "&".join(f"{outcome}={works.outcomes[outcome]}" for outcome in ImportOutcome)
    return RedirectResponse(f"/corpora/{works.corpus.id}?{counts}", 303)


async def _form(
    request: Request,
    ctx: ApiContext,
    form: ImportWorksForm,
    *,
    wrong: dict[str, str] | None = None,
    unusable: list[str] | None = None,
    imported: ImportedFiles | None = None,
    estimates: ImportEstimates | None = None,
) -> Response:
    async with ctx.database.connection() as connection:
        found = None if form.is_new else await corpora.find(connection, form.corpus)
    return page(
        request,
        "import_works.html.j2",
        status=422 if wrong or unusable else 200,
        form=form,
        corpus=found,
        wrong=wrong or {},
        unusable=unusable or [],
        imported=imported,
        estimates=estimates,
        endings=list(SUFFIXES),
        default_tokens=DEFAULT_TOKENS,
        languages=(*DICTIONARIES, *OTHERS),
        most_files=MAX_FILES,
        most_kilobytes=ctx.settings.ragq_api_max_upload_kb,
    )
