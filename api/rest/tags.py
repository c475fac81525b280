"""Tags runs: phrases submitted to a vocabulary, and the candidates that they led to."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, File, Path, Query, Response, UploadFile
from pydantic import ConfigDict, Field

from api.context import Context
from api.parameters import Body, Keyed, PathId, Reply, StrictRoute, announce, base_name, with_example
from api.rest.submissions import SUBMITTED, Submission, submit_body
from schemas.errors import run_missing
from schemas.statuses import JobStatus
from schemas.values.base import Listed, Text
from schemas.values.costs import Estimate
from schemas.values.requests import TagsPolicy, TagsRequest, TagsWanted
from schemas.values.tags import PhraseSet, StoredVocabulary, Tag
from services.new_runs import Submitted
from services.tags import build_vocabulary, delete_vocabulary, read_vocabulary, vocabulary_of_name
from store import vocabularies

MAX_SETS = 10_000


class TagsSubmission(TagsPolicy, Submission):
    """What `ragq submit --phrases` takes."""

    model_config = with_example(vocabulary="wardrobe", phrase_sets=[{"phrases": ["overcoat", "umbrela"]}])

    phrase_sets: Annotated[list[PhraseSet], Field(min_length=1, max_length=MAX_SETS)]

    @property
    def request(self) -> TagsRequest:
        """The request."""
        return TagsRequest(phrase_sets=tuple(self.phrase_sets), **self.model_dump(include=set(TagsPolicy.model_fields)))


class TagsSetReply(Reply):
    """What one set of phrases led to."""

    id: str = Field(examples=["q7"])
    job_id: int = Field(examples=[34])
    status: JobStatus = Field(examples=["succeeded"])
    result: list[Any] | None = Field(
        repr=False, examples=[[{"tag": "coat", "score_combined": 0.91, "sources": ["overcoat"]}]]
    )
    """The candidates, best first; with `verbose` or `phrase_ranks` an array of the candidates, then the reports by
    phrase, then the ranks, as far as they were asked for. Null until the job has succeeded."""
    note: str | None = Field(
        examples=["1 phrase without candidates: 2 tags used less than 100 times (PSQ_MIN_TAG_COUNT=0 keeps them)."]
    )
    """Why phrases that led to tags have none; null where the filters left each phrase one."""


router = APIRouter(prefix="/tags", tags=["tags"], route_class=StrictRoute)


@router.post("/runs", status_code=201, responses=SUBMITTED)
async def submit_phrases(ctx: Context, key: Keyed, body: TagsSubmission, response: Response) -> Submitted | Estimate:
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
) -> Listed[TagsSetReply]:
    """What each set of phrases led to, in one of four shapes; null for a set that is not finished, or failed."""
    found = await ctx.database.once(vocabularies.results, run_id=run_id)
    if not found:
        raise run_missing(run_id)
    shown = (one.shown(verbose=verbose, phrase_ranks=phrase_ranks) | {"job_id": one.job_id} for one in found)
    return Listed.whole([TagsSetReply(**one) for one in shown])


VocabularyName = Annotated[Text, Field(min_length=1, max_length=64, examples=["wardrobe"])]


class VocabularyForm(Body):
    """A vocabulary as files of a form."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: VocabularyName
    files: Annotated[list[UploadFile], Field(min_length=1, max_length=4)]
    """tags.csv, and what there is of cooccurrence.tsv, tag_lists.txt and ratings.csv."""


vocabularies_router = APIRouter(prefix="/vocabularies", tags=["vocabularies"], route_class=StrictRoute)

Name = Annotated[str, Path(pattern=r"^[^\x00/]{1,64}$", examples=["wardrobe"])]


@vocabularies_router.get("")
async def list_vocabularies(
    ctx: Context, name: Annotated[Text | None, Query(examples=["wardrobe"])] = None
) -> Listed[StoredVocabulary]:
    """Every vocabulary that can be asked, by name; or that of one name: its size, and which models were built from
    it."""
    return Listed.whole(await ctx.database.once(vocabularies.current, name))


@vocabularies_router.get("/{name}/tags")
async def list_tags(name: Name, ctx: Context, wanted: Annotated[TagsWanted, Query()]) -> Listed[Tag]:
    """The tags, the most used first."""
    async with ctx.database.connection() as connection:
        vocabulary = await vocabulary_of_name(connection, name)
        return await vocabularies.tags(connection, vocabulary.id, wanted)


@vocabularies_router.post("", status_code=201)
async def import_vocabulary(
    form: Annotated[VocabularyForm, File()], ctx: Context, response: Response
) -> StoredVocabulary:
    """Store the files of a form (`multipart/form-data`) as a vocabulary, in place of an older one of its name.

    Files are recognised by their names. 422 `files-unusable` has every problem, and then nothing is imported. Build its
    models next.
    """
    files = {base_name(file.filename or ""): await file.read() for file in form.files}
    vocabulary = await asyncio.to_thread(read_vocabulary, form.name, files)
    kept = await ctx.database.once(vocabularies.keep, form.name, vocabulary)
    response.headers["Location"] = f"{vocabularies_router.prefix}?name={form.name}"
    return kept


@vocabularies_router.post("/{name}/models", status_code=201, responses={200: {"model": Submitted}})
async def build_models(name: Name, ctx: Context, response: Response) -> Submitted:
    """Submit the run that builds the models by which phrases are found; 200 with the run that has built them."""
    submitted = await build_vocabulary(ctx.database, name, ctx.run_settings())
    announce(response, submitted)
    return submitted


@vocabularies_router.delete("/{name}", status_code=204)
async def remove_vocabulary(name: Name, ctx: Context) -> None:
    """Delete a vocabulary with its models. Results of runs stay; 409 while unfinished jobs use it."""
    await ctx.database.once(delete_vocabulary, name)
