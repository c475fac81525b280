"""The works of every corpus at the addresses of the original's web client."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from api.context import Context
from api.parameters import PathId, Text
from api.problems import problem_responses
from api.rest.bodies.base import Reply
from api.work_uploads import base_name
from services.corpora import corpus_of_name
from store.corpora import corpora, work_view, works
from store.corpora.work_view import work_missing

router = APIRouter(prefix="/corpus", tags=["corpora"])

Corpus = Annotated[Text | None, Query(max_length=1000, examples=["default"])]


class ChunkStats(Reply):
    """Chunks by the state of their vectors."""

    no_vec: int = Field(examples=[150])
    """Sections, which are not searched."""
    to_vec: int = Field(examples=[50])
    """Waiting."""
    vec: int = Field(examples=[200])
    """Searchable."""
    vec_err: int = Field(examples=[5])
    """Their job failed."""


class CorpusStatsReply(Reply):
    """How much is stored."""

    total_works: int = Field(examples=[12])
    chunk_stats: ChunkStats


class CorpusWorkLine(Reply):
    """A work."""

    id: int = Field(examples=[7])
    title: str = Field(examples=["On Tea"])
    authors: str | None = Field(examples=["A. Leaf"])
    sanitized_path: str = Field(examples=["tea.md"])
    """The name of the file that it comes from."""
    corpus: str = Field(examples=["default"])


class CorpusWorksReply(Reply):
    """Every work, the newest first."""

    works: list[CorpusWorkLine]
    total: int = Field(examples=[12])


class CorpusWorkReply(CorpusWorkLine):
    """A work with its hash."""

    year: int | None = Field(examples=[2019])
    publisher: str | None = Field(examples=["Pot Press"])
    sanitized_hash: str = Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])
    """SHA-256 of the markdown."""


class WorkContentReply(Reply):
    """The markdown of a work."""

    work_id: int = Field(examples=[7])
    work_title: str = Field(examples=["On Tea"])
    filename: str = Field(examples=["tea.md"])
    content: str = Field(repr=False, examples=["# Tea\n\nTea is a drink.\n"])


@router.get("/stats", summary="Count works and chunks", responses=problem_responses(404, 422))
async def corpus_stats(ctx: Context, corpus: Corpus = None) -> CorpusStatsReply:
    """The works and chunks of one corpus, or of all."""
    async with ctx.database.connection() as connection:
        chosen = await corpora.all_corpora(connection) if corpus is None else [await corpus_of_name(connection, corpus)]
        contents = [await corpora.content(connection, one.id) for one in chosen]
    return CorpusStatsReply(
        total_works=sum(content.works for content in contents),
        chunk_stats=ChunkStats(
            no_vec=sum(content.sections for content in contents),
            to_vec=sum(content.waiting - content.failed for content in contents),
            vec=sum(content.searchable for content in contents),
            vec_err=sum(content.failed for content in contents),
        ),
    )


@router.get("/works", summary="List every work", responses=problem_responses(404, 422))
async def corpus_works(ctx: Context, corpus: Corpus = None) -> CorpusWorksReply:
    """The works of one corpus, or of all, the newest first."""
    async with ctx.database.connection() as connection:
        chosen = None if corpus is None else (await corpus_of_name(connection, corpus)).id
        found = await work_view.newest(connection, chosen)
    lines = [
        CorpusWorkLine(
            id=work.id,
            title=work.title,
            authors=work.authors,
            corpus=work.corpus,
            sanitized_path=_file_name(work.id, work.source_path),
        )
        for work in found
    ]
    return CorpusWorksReply(works=lines, total=len(lines))


@router.get("/work/{work_id}", summary="Show a work's file", responses=problem_responses(404, 422))
async def corpus_work(work_id: PathId, ctx: Context) -> CorpusWorkReply:
    """A work with the name and the hash of its file. `/works/{id}` has its headings, too."""
    async with ctx.database.connection() as connection:
        work = await work_view.work(connection, work_id)
    return CorpusWorkReply(
        id=work.id,
        title=work.title,
        authors=work.authors,
        corpus=work.corpus,
        sanitized_path=_file_name(work.id, work.source_path),
        year=work.year,
        publisher=work.publisher,
        sanitized_hash=work.content_hash,
    )


@router.get("/work/{work_id}/content", summary="Read a work", responses=problem_responses(404, 409, 422))
async def corpus_work_content(work_id: PathId, ctx: Context) -> WorkContentReply:
    """The stored markdown, including its front matter. 409 when it does not match its hash."""
    async with ctx.database.connection() as connection:
        work = await work_view.work(connection, work_id)
        markdown = await works.markdown(connection, work_id)
    if markdown is None:
        raise work_missing(work_id)
    return WorkContentReply(
        work_id=work.id,
        work_title=work.title,
        filename=_file_name(work.id, work.source_path),
        content=markdown,
    )


def _file_name(work_id: int, source_path: str | None) -> str:
    return f"work-{work_id}.md" if source_path is None else base_name(source_path)
