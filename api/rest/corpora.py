"""Corpora: the collections of works that questions search."""

from fastapi import APIRouter
from pydantic import Field

from api.context import Context
from api.rest.bodies.base import Reply
from store.corpora import corpora
from store.corpora.corpora import CorpusSize

router = APIRouter(prefix="/corpora", tags=["corpora"])


class CorporaReply(Reply):
    """Every corpus, by name."""

    corpora: list[CorpusSize] = Field(
        examples=[
            [
                {
                    "name": "default",
                    "works": 12,
                    "searchable_chunks": 940,
                    "model": "sentence-transformers/all-MiniLM-L6-v2",
                    "keeps_token_vectors": False,
                }
            ]
        ]
    )


@router.get("", summary="List corpora")
async def list_corpora(ctx: Context) -> CorporaReply:
    """Every corpus, by name."""
    async with ctx.database.connection() as connection:
        return CorporaReply(corpora=await corpora.sizes(connection))
