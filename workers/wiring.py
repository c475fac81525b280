"""The one place that chooses concrete things: which models a run's settings mean, and those of a vocabulary."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import cache
from typing import Final, NamedTuple, Protocol, TypeVar

from adapters.limited_process import ProcessLimits
from adapters.logprobs import OptionalLogprobs
from adapters.tag_models import read_context_model, read_sentences, read_token_model
from schemas.errors import DomainError, FailureCategory, Refused
from schemas.settings.process import ProcessSettings
from schemas.settings.run import RunSettings
from stages.models import resolved_model
from stages.ports import ChatModel, Embedder, PairScorer
from stages.tags.similarity import ContextModel, FusedSearch, TokenModel
from store import vocabularies
from store.database import Database
from workers.batcher import BatchedEmbedder, Batcher
from workers.broker import FIRST
from workers.call_limits import CallLimits, client
from workers.ledger_chat import CallLedger

#: In one forward pass of the embedder.
PASS_TOKENS: Final = 2048


class VocabularyModels(NamedTuple):
    """What phrases are embedded and searched with."""

    tokens: TokenModel
    context: ContextModel
    fused: FusedSearch | None
    """All sources; None for jobs by FastText alone."""
    size: int
    """About how many bytes they take."""


class TagModels:
    """Loads the models of a vocabulary on first use and keeps them: a vocabulary never gets others. The least recently
    used ones are dropped when all together are larger than `max_bytes`, the newest never. Used on one event loop."""

    def __init__(self, database: Database, *, max_bytes: int = 512 * 1024**2) -> None:
        self._database = database
        self._max_bytes = max_bytes
        self._kept: OrderedDict[tuple[int, bool], VocabularyModels] = OrderedDict()
        self._loading = asyncio.Lock()

    async def of(
        self, vocabulary_id: int, *, tokens_digest: str, context_digest: str, is_fused: bool
    ) -> VocabularyModels:
        """The models of a vocabulary. Raises DomainError when they are missing or have other digests."""
        key = (vocabulary_id, is_fused)
        async with self._loading:
            if key not in self._kept:
                parts: list[vocabularies.Part] = ["tokens", "context"]
                if is_fused:
                    parts.append("similarity")
                files = [await self._database.ask(vocabularies.file, vocabulary_id, part) for part in parts]
                self._kept[key] = await asyncio.to_thread(_read, *files)
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


def _read(tokens: bytes, context: bytes, similarity: bytes = b"") -> VocabularyModels:
    of_tokens = read_token_model(tokens)
    fused = FusedSearch(of_tokens, read_sentences(similarity)) if similarity else None
    # Files are compressed, and the search keeps the n-grams of names beside the vectors.
    size = 3 * (len(tokens) + len(context) + len(similarity))
    return VocabularyModels(of_tokens, read_context_model(context), fused, size)


class Closable(Protocol):
    """What holds threads or connections."""

    async def close(self) -> None:
        """Let go of them."""


Adapter = TypeVar("Adapter", bound=Closable)


class Wiring:
    """Builds each adapter once per process, on first use; models load then and stay."""

    def __init__(
        self,
        process: ProcessSettings,
        database: Database,
        *,
        ollama_url: str | None,
        broker_url: str | None = None,
        is_crowded: Callable[[], bool],
        is_awaited: Callable[[], bool] = lambda: False,
    ) -> None:
        self._process = process
        self._ollama_url = ollama_url
        self._is_crowded = is_crowded
        self._is_awaited = is_awaited
        self._embedder = cache(self._build_embedder)
        self._chat = cache(self._build_chat)
        self._pair_scorer = cache(self._build_pair_scorer)
        self._open = AsyncExitStack()
        redis = client(broker_url, process) if broker_url else None
        if redis is not None:
            self._open.push_async_callback(redis.aclose)
        limits = CallLimits(database, process, redis, lease_s=process.ragq_lease_seconds)
        self.calls = CallLedger(database, limits)
        self.tag_models = TagModels(database)
        self.document_limits = ProcessLimits(
            process.ragq_document_seconds, process.ragq_document_memory_mb, process.ragq_document_output_mb
        )

    def embedder(self, settings: RunSettings, *, priority: int = FIRST) -> Embedder:
        """The embedder of a run. A model in this process computes texts of a lower `priority` first."""
        backend = settings.embedding.backend
        return self.embedder_of(backend, resolved_model(settings.model.embedding_model, backend), priority=priority)

    def embedder_of(self, backend: str, model: str, *, priority: int = FIRST) -> Embedder:
        embedder = self._embedder(backend, model)
        return embedder.at(priority) if isinstance(embedder, BatchedEmbedder) else embedder

    def chat(self, settings: RunSettings) -> ChatModel:
        return self._chat(settings.llm.backend)

    def pair_scorer(self, model: str) -> PairScorer:
        """A cross-encoder by folder or hub id, a model in this process."""
        return self._pair_scorer(model)

    async def close(self) -> None:
        """End the batchers' threads and close the connections to servers."""
        await self._open.aclose()

    def _closing(self, adapter: Adapter) -> Adapter:
        self._open.push_async_callback(adapter.close)
        return adapter

    def _build_embedder(self, backend: str, model: str) -> Embedder:
        if backend == "ollama":
            from adapters.ollama import OllamaEmbedder

            return self._closing(OllamaEmbedder(model, url=self._require_ollama()))
        if backend == "openai":
            from adapters.openai import OpenAIEmbedder

            address = self._process.openai_embedding_server
            if address is None:
                raise Refused(
                    "EMBEDDING_BACKEND is openai and RAGQ_OPENAI_EMBEDDING_BASE_URL is not set; set it to the server's "
                    "URL."
                )
            return self._closing(OpenAIEmbedder(model, base_url=address.base_url, api_key=address.api_key))
        from adapters.local_models import SentenceTransformerEncoder

        encoder = SentenceTransformerEncoder(
            model,
            dtype=self._process.ragq_embedding_dtype,
            threads=self._process.ragq_torch_threads or None,
            # The batcher cuts the passes: the encoder takes each whole.
            batch_size=PASS_TOKENS,
        )
        batcher = Batcher(encoder, token_budget=PASS_TOKENS, is_crowded=self._is_crowded, is_awaited=self._is_awaited)
        return BatchedEmbedder(self._closing(batcher))

    def _build_pair_scorer(self, model: str) -> PairScorer:
        from adapters.local_models import CrossEncoderScorer

        return self._closing(CrossEncoderScorer(model, threads=self._process.ragq_torch_threads or None))

    def _build_chat(self, backend: str) -> ChatModel:
        if backend == "openai":
            from adapters.openai import OpenAIChat

            address = self._process.openai_server
            if address is None:
                raise Refused("LLM_BACKEND is openai and RAGQ_OPENAI_BASE_URL is not set; set it to the server's URL.")
            return OptionalLogprobs(self._closing(OpenAIChat(address.base_url, api_key=address.api_key)))
        from adapters.ollama import OllamaChat

        return OptionalLogprobs(self._closing(OllamaChat(self._require_ollama())))

    def _require_ollama(self) -> str:
        if self._ollama_url is None:
            raise Refused("No Ollama server is known: start the stack with `ragq up`, or set OLLAMA_HOST.")
        return self._ollama_url
