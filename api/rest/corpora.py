"""Corpora: the collections of works that questions search."""

from fastapi import APIRouter
from pydantic import Field

from api.context import Context
from api.rest.bodies.base import Reply
from store.corpora import corpora

router = APIRouter(prefix="/corpora", tags=["corpora"])


class CorpusReply(Reply):
    """A corpus and its size."""

    name: str = Field(examples=["default"])
    works: int = Field(examples=[12])
    searchable_chunks: int = Field(examples=[940])
    """Chunks that searches can find."""
    model: str = Field(examples=["sentence-transformers/all-MiniLM-L6-v2"])
    """The model that embeds it."""
    keeps_token_vectors: bool
    """Late interaction can rank its chunks."""


class CorporaReply(Reply):
    """Every corpus, by name."""

    corpora: list[CorpusReply]


@router.get("", summary="List corpora")
async def list_corpora(ctx: Context) -> CorporaReply:
    """Every corpus, by name."""
    async with ctx.database.connection() as connection:
        found = await corpora.sizes(connection)
    return CorporaReply(corpora=[CorpusReply.model_validate(size) for size in found])
