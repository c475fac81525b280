"""The models of vocabularies, loaded once per process, and searched in memory."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from schemas.errors import EmbeddingDimensionMismatchError, VocabularyError
from schemas.values.tags import NearToken
from stages.ports import TokenQuery, TokenVectors
from stages.tags.similarity import CharacterModel, ContextModel, FusedSearch, TokenTable
from store import vocabularies
from store.database import Database
from store.vocabularies import Part

Value = TypeVar("Value")

MAX_BYTES: Final = 512 * 1024**2


class Sized(NamedTuple, Generic[Value]):
    """What was loaded, and about how many bytes it takes."""

    value: Value
    size: int


class KeptInMemory:
    """Values by key. Used on one event loop.

    The least recently used ones are dropped when all together are larger than `max_bytes`, the newest never.
    """

    def __init__(self, *, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[tuple[str, int], Sized[Any]] = OrderedDict()
        self._loading = asyncio.Lock()

    async def get(self, key: tuple[str, int], load: Callable[[], Awaitable[Sized[Value]]]) -> Value:
        """The value of the key, loaded once, however many ask. Raises what `load` raises, and keeps nothing then."""
        async with self._loading:
            if key not in self._kept:
                self._kept[key] = await load()
        self._kept.move_to_end(key)
        found: Value = self._kept[key].value
        while len(self._kept) > 1 and sum(one.size for one in self._kept.values()) > self._max_bytes:
            self._kept.popitem(last=False)
        return found

    def __contains__(self, key: object) -> bool:
        return key in self._kept


class LoadedModels(NamedTuple):
    """What phrases are embedded with."""

    tokens: TokenVectors
    context: ContextModel


class LoadedSearch(NamedTuple):
    """All sources of a vocabulary."""

    characters: CharacterModel
    search: FusedSearch
    dimension: int
    """Numbers per sentence vector."""


class TagModels:
    """Loads the models of a vocabulary on first use and keeps them: a vocabulary never gets others.

    The port NeighbourSearch too.
    """

    def __init__(self, database: Database, kept: KeptInMemory | None = None) -> None:
        self._database = database
        self._kept = kept or KeptInMemory()

    async def of(self, vocabulary_id: int, *, tokens_digest: str, context_digest: str) -> LoadedModels:
        """The models of a vocabulary. Raises VocabularyError when they are missing or have other digests."""

        async def load() -> Sized[LoadedModels]:
            tokens, context = [await self._file(vocabulary_id, part) for part in ("tokens", "context")]
            return Sized(await asyncio.to_thread(_models, tokens, context), 2 * (len(tokens) + len(context)))

        models = await self._kept.get(("models", vocabulary_id), load)
        if (models.tokens.digest, models.context.digest) != (tokens_digest, context_digest):
            raise VocabularyError(
                f"The models of vocabulary {vocabulary_id} are not those that the run was submitted on "
                f"({tokens_digest[:12]}, {context_digest[:12]}); submit it again."
            )
        return models

    async def fused(self, vocabulary_id: int) -> LoadedSearch:
        """All sources of a vocabulary. Raises VocabularyError when its models lack spelling and meaning."""

        async def load() -> Sized[LoadedSearch]:
            data = await self._file(vocabulary_id, "similarity")
            return await asyncio.to_thread(_search, data, await self._read_table(vocabulary_id))

        return await self._kept.get(("fused", vocabulary_id), load)

    async def nearest(
        self, vocabulary_id: int, queries: Sequence[TokenQuery], *, limit: int
    ) -> list[tuple[NearToken, ...]]:
        """See NeighbourSearch."""
        if not queries:
            return []
        dimension = await self._database.ask(vocabularies.dimension, vocabulary_id)
        for query in queries:
            if query.vector is not None and len(query.vector) != dimension:
                raise EmbeddingDimensionMismatchError(expected=dimension, actual=len(query.vector))
        if queries[0].sentence is None:
            table = await self._table(vocabulary_id)
            return await asyncio.to_thread(table.nearest, queries, limit)
        loaded = await self.fused(vocabulary_id)
        for query in queries:
            if query.sentence is not None and len(query.sentence) != loaded.dimension:
                raise EmbeddingDimensionMismatchError(expected=loaded.dimension, actual=len(query.sentence))
        return await asyncio.to_thread(loaded.search.nearest, queries, limit)

    async def _table(self, vocabulary_id: int) -> TokenTable:
        async def load() -> Sized[TokenTable]:
            table = await self._read_table(vocabulary_id)
            return Sized(table, 2 * table.vectors.nbytes)

        return await self._kept.get(("tokens", vocabulary_id), load)

    async def _read_table(self, vocabulary_id: int) -> TokenTable:
        return await self._database.ask(vocabularies.token_vectors, vocabulary_id)

    async def _file(self, vocabulary_id: int, part: Part) -> bytes:
        return await self._database.ask(vocabularies.file, vocabulary_id, part)


def _models(tokens: bytes, context: bytes) -> LoadedModels:
    from adapters.tag_models import FastTextTokens, read_context_model

    return LoadedModels(FastTextTokens(tokens), read_context_model(context))


def _search(data: bytes, table: TokenTable) -> Sized[LoadedSearch]:
    from adapters.tag_models import read_similarity_model

    model = read_similarity_model(data)
    return Sized(
        LoadedSearch(model.characters, FusedSearch(model, table), model.sentences.shape[1]),
        model.bytes + table.vectors.nbytes,
    )
