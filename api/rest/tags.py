"""Tags runs: phrases submitted to a vocabulary, and the candidates that they led to."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, File, Path, Query, Response

from api.context import Context
from api.parameters import PathId, next_offset
from api.preferences import Keyed
from api.rest.bodies.base import StrictRoute
from api.rest.bodies.participants import (
    BuildReply,
    SubmittedReply,
    TagsPartReply,
    TagsRunReply,
    TagsSetReply,
    TagsSubmission,
    VocabulariesReply,
    VocabularyForm,
)
from api.rest.submissions import SUBMITTED, submit_body
from api.work_uploads import base_name
from schemas.errors import RunMissingError
from schemas.values.estimates import Estimate
from schemas.values.requests import TagsWanted
from services.tags import (
    ImportedVocabulary,
    build_vocabulary,
    delete_vocabulary,
    keep_vocabulary,
    read_vocabulary,
    vocabulary_of_name,
)
from store import vocabularies
from store.vocabularies import StoredVocabulary

router = APIRouter(prefix="/tags", tags=["tags"], route_class=StrictRoute)


@router.post("/runs", status_code=201, responses=SUBMITTED)
async def submit_phrases(
    ctx: Context, key: Keyed, body: TagsSubmission, response: Response
) -> SubmittedReply | Estimate:
    """Store a run of one job per set of phrases, and send it.

    The same work submitted again is the same run: 200 instead of 201. 409 when the vocabulary has no models yet.
    """
    return await submit_body(ctx, key, body, body.request, response)


@router.get("/runs/{run_id:int}")
async def show_candidates(
    run_id: PathId,
    ctx: Context,
    verbose: Annotated[
        bool, Query(description="Add for each phrase every tag that was found, before the cut.")
    ] = False,
    phrase_ranks: Annotated[bool, Query(description="Add the best rank that each candidate has for a phrase.")] = False,
) -> TagsRunReply:
    """What each set of phrases led to, in one of four shapes; null for a set that is not finished, or failed."""
    found = await ctx.database.once(vocabularies.results, run_id=run_id)
    if not found:
        raise RunMissingError(run_id)
    return TagsRunReply(
        run_id=run_id,
        sets=[
            TagsSetReply(
                id=one.subject,
                job_id=one.job_id,
                status=one.status,
                result=one.shaped(verbose=verbose, phrase_ranks=phrase_ranks),
                note=one.note,
            )
            for one in found
        ],
    )


vocabularies_router = APIRouter(prefix="/vocabularies", tags=["vocabularies"], route_class=StrictRoute)

Name = Annotated[str, Path(pattern=r"^[^\x00/]{1,64}$", examples=["wardrobe"])]


@vocabularies_router.get("")
async def list_vocabularies(ctx: Context) -> VocabulariesReply:
    """Every vocabulary that can be asked, by name."""
    found = await ctx.database.once(vocabularies.current)
    return VocabulariesReply(vocabularies=found)


@vocabularies_router.get("/{name}")
async def show_vocabulary(name: Name, ctx: Context) -> StoredVocabulary:
    """A vocabulary: its size, and which models were built from it."""
    return await ctx.database.once(vocabulary_of_name, name)


@vocabularies_router.get("/{name}/tags")
async def list_tags(name: Name, ctx: Context, wanted: Annotated[TagsWanted, Query()]) -> TagsPartReply:
    """The tags, the most used first."""
    async with ctx.database.connection() as connection:
        vocabulary = await vocabulary_of_name(connection, name)
        found, total = await vocabularies.tags_part(connection, vocabulary.id, **dict(wanted))
    return TagsPartReply(
        tags=found,
        total=total,
        next_offset=next_offset(wanted.offset, len(found), total),
    )


@vocabularies_router.post("", status_code=201)
async def import_vocabulary(
    form: Annotated[VocabularyForm, File()], ctx: Context, response: Response
) -> ImportedVocabulary:
    """Store the files of a form (`multipart/form-data`) as a vocabulary, in place of an older one of its name.

    Files are recognised by their names. 422 `files-unusable` has every problem, and then nothing is imported. Build its
    models next.
    """
    files = {base_name(file.filename or ""): await file.read() for file in form.files}
    vocabulary = await asyncio.to_thread(read_vocabulary, form.name, files)
    kept = await ctx.database.once(keep_vocabulary, form.name, vocabulary)
    response.headers["Location"] = f"{vocabularies_router.prefix}/{form.name}"
    return kept


@vocabularies_router.post("/{name}/models", status_code=201, responses={200: {"model": BuildReply}})
async def build_models(name: Name, ctx: Context, response: Response) -> BuildReply:
    """Submit the run that builds the models by which phrases are found."""
    built = await build_vocabulary(ctx.database, name, ctx.run_settings())
    is_new = built.submitted is not None and built.submitted.is_new
    response.status_code = 201 if is_new else 200
    response.headers["Location"] = f"/runs/{built.run_id}"
    return BuildReply(run_id=built.run_id, is_new=is_new)


@vocabularies_router.delete("/{name}", status_code=204)
async def remove_vocabulary(name: Name, ctx: Context) -> None:
    """Delete a vocabulary with its models. Results of runs stay; 409 while unfinished jobs use it."""
    await ctx.database.once(delete_vocabulary, name)
