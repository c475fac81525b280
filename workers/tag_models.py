"""The models of vocabularies, loaded once per process."""

import asyncio
from typing import NamedTuple

from schemas.errors import VocabularyModelsError
from stages.tags.context import ContextModel
from stages.tags.ports import TokenVectors
from store.database import Connection, Database
from store.vocabularies import vocabularies


class LoadedModels(NamedTuple):
    """What phrases are embedded with."""

    tokens: TokenVectors
    context: ContextModel


class TagModels:
    """Loads the models of a vocabulary on first use and keeps them: a vocabulary never gets others."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._loaded: dict[int, LoadedModels] = {}
        self._loading = asyncio.Lock()

    async def of(self, vocabulary_id: int, *, tokens_digest: str, context_digest: str) -> LoadedModels:
        """The models of a vocabulary. Raises VocabularyModelsError when they are missing or have other digests."""
        async with self._loading:
            if vocabulary_id not in self._loaded:
                self._loaded[vocabulary_id] = await self._load(vocabulary_id)
        models = self._loaded[vocabulary_id]
        if (models.tokens.digest, models.context.digest) != (tokens_digest, context_digest):
            raise VocabularyModelsError(
                f"The models of vocabulary {vocabulary_id} are not those that the run was submitted on "
                f"({tokens_digest[:12]}, {context_digest[:12]}); submit it again."
            )
        return models

    async def _load(self, vocabulary_id: int) -> LoadedModels:
        async def read(connection: Connection) -> tuple[bytes, bytes]:
            return (
                await vocabularies.model_file(connection, vocabulary_id, "tokens"),
                await vocabularies.model_file(connection, vocabulary_id, "context"),
            )

        return await asyncio.to_thread(_unpacked, *await self._database.with_retry(read))


def _unpacked(tokens: bytes, context: bytes) -> LoadedModels:
    from adapters.context_file import read_context_model
    from adapters.fasttext_tokens import FastTextTokens

    return LoadedModels(FastTextTokens(tokens), read_context_model(context))
