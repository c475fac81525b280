"""Works: their headings and chunks."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from api.context import Context
from api.parameters import MAX_ID, PathId, next_offset
from api.problems import problem_responses
from api.rest.bodies.corpora import ChunkReply, ChunksReply, HeadingReply, WorkReply
from api.rest.corpora import Limit, Offset
from store.corpora import work_view

router = APIRouter(prefix="/works", tags=["corpora"])


@router.get("/{work_id:int}", summary="Show a work", responses=problem_responses(404, 422))
async def show_work(work_id: PathId, ctx: Context) -> WorkReply:
    """A work: its bibliography, and its headings with their lines."""
    async with ctx.database.connection() as connection:
        work = await work_view.work(connection, work_id)
        headings = await work_view.headings(connection, work_id)
    return WorkReply(**asdict(work), headings=[HeadingReply.model_validate(heading) for heading in headings])


@router.get("/{work_id:int}/chunks", summary="List the chunks of a work", responses=problem_responses(404, 422))
async def list_chunks(
    work_id: PathId,
    ctx: Context,
    heading: Annotated[int | None, Query(ge=1, le=MAX_ID, examples=[12])] = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> ChunksReply:
    """The content chunks in the order of the text; with `heading`, those of this section, deeper ones included."""
    async with ctx.database.connection() as connection:
        work = await work_view.work(connection, work_id)
        found = await work_view.chunks(connection, work, section=heading, limit=limit, offset=offset)
        total = await work_view.count_chunks(connection, work_id, section=heading)
    return ChunksReply(
        chunks=[ChunkReply.model_validate(chunk) for chunk in found],
        total=total,
        next_offset=next_offset(offset, len(found), total),
    )
