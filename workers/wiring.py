"""The one place that chooses concrete things: which embedder and which language model a run's settings mean."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import cache
from typing import Protocol, TypeVar

from adapters.limited_process import ProcessLimits
from adapters.logprobs import OptionalLogprobs
from schemas.errors import Refused
from schemas.settings.process import ProcessSettings
from schemas.settings.run import RunSettings
from stages.models import resolved_model
from stages.ports import ChatModel, Embedder, PairScorer
from store.database import Database
from workers.batcher import BatchedEmbedder, Batcher
from workers.broker import FIRST
from workers.call_limits import CallLimits, client
from workers.ledger_chat import CallLedger
from workers.tag_models import TagModels


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
        redis = client(broker_url, process.llm_limits) if broker_url else None
        if redis is not None:
            self._open.push_async_callback(redis.aclose)
        limits = CallLimits(database, process.llm_limits, redis, lease_s=process.ragq_lease_seconds)
        self.calls = CallLedger(database, limits)
        self.tag_models = TagModels(database)

    def embedder(self, settings: RunSettings, *, priority: int = FIRST) -> Embedder:
        """The embedder of a run: a model in this process for backend huggingface, else a server's.

        A model in this process computes texts of a lower `priority` first.
        """
        backend = settings.embedding.backend
        return self.embedder_of(backend, resolved_model(settings.model.embedding_model, backend), priority=priority)

    def embedder_of(self, backend: str, model: str, *, priority: int = FIRST) -> Embedder:
        """An embedder by its backend and the name of its model there."""
        embedder = self._embedder(backend, model)
        return embedder.at(priority) if isinstance(embedder, BatchedEmbedder) else embedder

    def chat(self, settings: RunSettings) -> ChatModel:
        """The language model server of a run."""
        return self._chat(settings.llm.backend)

    def pair_scorer(self, model: str) -> PairScorer:
        """A cross-encoder by folder or hub id, a model in this process."""
        return self._pair_scorer(model)

    @property
    def document_limits(self) -> ProcessLimits:
        """The limits of a process that converts a document."""
        process = self._process
        return ProcessLimits(
            process.ragq_document_seconds, process.ragq_document_memory_mb, process.ragq_document_output_mb
        )

    async def close(self) -> None:
        """End the batchers' threads and close the connections to servers."""
        await self._open.aclose()

    def _closing(self, adapter: Adapter) -> Adapter:
        """The adapter, which is closed with the process."""
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

        tokens = self._process.ragq_batch_tokens
        encoder = SentenceTransformerEncoder(
            model,
            dtype=self._process.ragq_embedding_dtype,
            threads=self._process.ragq_torch_threads or None,
            # The batcher cuts the passes: the encoder takes each whole.
            batch_size=tokens,
        )
        batcher = Batcher(encoder, token_budget=tokens, is_crowded=self._is_crowded, is_awaited=self._is_awaited)
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
