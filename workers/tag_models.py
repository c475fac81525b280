"""The models of vocabularies, loaded once per process, and searched in memory."""

import asyncio
from collections import OrderedDict
from typing import Final, NamedTuple

from adapters.tag_models import read_context_model, read_sentences, read_token_model
from schemas.errors import DomainError, FailureCategory
from stages.tags.similarity import ContextModel, FusedSearch, TokenModel
from store import vocabularies
from store.database import Database

MAX_BYTES: Final = 512 * 1024**2


class VocabularyModels(NamedTuple):
    """What phrases are embedded and searched with."""

    tokens: TokenModel
    context: ContextModel
    fused: FusedSearch | None
    """All sources; None for jobs by FastText alone."""
    size: int
    """About how many bytes they take."""


class TagModels:
    """Loads the models of a vocabulary on first use and keeps them: a vocabulary never gets others.

    The least recently used ones are dropped when all together are larger than `max_bytes`, the newest never. Used on
    one event loop.
    """

    def __init__(self, database: Database, *, max_bytes: int = MAX_BYTES) -> None:
        self._database = database
        self._max_bytes = max_bytes
        self._kept: OrderedDict[tuple[int, bool], VocabularyModels] = OrderedDict()
        self._loading = asyncio.Lock()

    async def of(
        self, vocabulary_id: int, *, tokens_digest: str, context_digest: str, is_fused: bool
    ) -> VocabularyModels:
        """The models of a vocabulary, loaded once however many ask.

        Raises DomainError when they are missing or have other digests, and then keeps nothing.
        """
        key = (vocabulary_id, is_fused)
        async with self._loading:
            if key not in self._kept:
                self._kept[key] = await self._load(*key)
        self._kept.move_to_end(key)
        models = self._kept[key]
        while len(self._kept) > 1 and sum(one.size for one in self._kept.values()) > self._max_bytes:
            self._kept.popitem(last=False)
        if (models.tokens.digest, models.context.digest) != (tokens_digest, context_digest):
            raise DomainError(
                f"The models of vocabulary {vocabulary_id} are not those that the run was submitted on "
                f"({tokens_digest[:12]}, {context_digest[:12]}); submit it again.",
                FailureCategory.VOCABULARY_UNUSABLE,
            )
        return models

    async def _load(self, vocabulary_id: int, is_fused: bool) -> VocabularyModels:
        parts: list[vocabularies.Part] = ["tokens", "context"]
        if is_fused:
            parts.append("similarity")
        files = [await self._database.ask(vocabularies.file, vocabulary_id, part) for part in parts]
        return await asyncio.to_thread(_read, *files)


def _read(tokens: bytes, context: bytes, similarity: bytes = b"") -> VocabularyModels:
    of_tokens = read_token_model(tokens)
    fused = FusedSearch(of_tokens.table, read_sentences(similarity)) if similarity else None
    # Files are compressed, and the search keeps the n-grams of names beside the vectors.
    size = 3 * (len(tokens) + len(context) + len(similarity))
    return VocabularyModels(of_tokens, read_context_model(context), fused, size)
