"""What the stages ask of the world, as Protocols. Adapters and the store satisfy them; tests hand in small fakes.

Every implementation of a port passes the contract suite of that port in tests/contracts.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from schemas.values.chat import ChatCall, ChatReply
from schemas.values.participants import Reference
from schemas.values.phq8 import PHQ8Item
from schemas.values.queries import Hit

ScoreSource = Literal["participant", "chunk"]
"""Whose score a reference carries: its participant's (the default), or the chunk's own (Spec 35)."""

Vectors = NDArray[np.float32]
"""A matrix, one row per text."""


class TextEncoder(Protocol):
    """An embedding model inside this process. Blocking; called from one thread at a time."""

    @property
    def name(self) -> str:
        """The model as settings name it."""
        ...

    @property
    def digest(self) -> str:
        """The SHA-256 of the weights, or what identifies them as exactly."""
        ...

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row per text, in order, in the model's native dimension, not normalised further than the model does.

        No text gives a matrix of zero rows. Texts beyond the model's token limit are cut by the model. A row depends on
        its text alone but for rounding, because which texts share a pass is chance: two rows of one text lie at most
        1e-5 of their length apart. So a cosine moves by 2e-5 at most.
        """
        ...

    def encode_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """For each text, in order, one row per token that the model sees, its own special tokens too.

        Rows are in the model's native dimension and of any length, and depend on their text alone as those of `encode`.
        """
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens per text as the model will see them, after its cut."""
        ...

    @property
    def forward_passes(self) -> int:
        """How often texts went through the model since it was loaded; one call of `encode` may take several passes."""
        ...


class Embedder(Protocol):
    """Who turns texts into vectors, here or on a server."""

    @property
    def name(self) -> str:
        """The model as settings name it."""
        ...

    async def digest(self) -> str:
        """What identifies the weights exactly; empty where the server cannot say."""
        ...

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float) -> Vectors:
        """One row per text, in order, in the model's native dimension. One call, however many texts.

        No text gives a matrix of zero rows without asking anyone. Raises LLMTimeoutError with `timeout_s` when the
        vectors are not there in time, EmbeddingValidationError when the number of rows is not the number of texts,
        and connection errors as they are.
        """
        ...


class TokenEmbedder(Protocol):
    """Who turns each token of a text into a vector."""

    @property
    def name(self) -> str:
        """The model as settings name it."""
        ...

    async def digest(self) -> str:
        """What identifies the weights exactly."""
        ...

    async def embed_tokens(self, texts: Sequence[str], *, timeout_s: float) -> list[Vectors]:
        """For each text, in order, one row per token that the model sees, as `TextEncoder.encode_tokens` gives them.

        No text gives an empty list without asking anyone. Raises LLMTimeoutError with `timeout_s` when the vectors are
        not there in time.
        """
        ...


class PairScorer(Protocol):
    """Who says how well each passage fits a query, reading both together: a cross-encoder."""

    @property
    def name(self) -> str:
        """The model as settings name it."""
        ...

    async def digest(self) -> str:
        """What identifies the weights exactly."""
        ...

    async def score_pairs(
        self, query: str, passages: Sequence[str], *, timeout_s: float, batch_size: int, max_tokens: int
    ) -> list[float]:
        """One raw logit per passage, in order; higher fits better, and there are no bounds.

        `batch_size` pairs go through the model at a time. A pair beyond `max_tokens`, or beyond what the model
        takes, is cut, the longer of the two texts first. The same call gives the same logits. No passage gives an
        empty list without asking anyone. Raises LLMTimeoutError with `timeout_s` when the logits are not there in
        time, after which no further batch runs, and RerankError when the model cannot score pairs or a logit is not
        a finite number.
        """
        ...


class ChatModel(Protocol):
    """Who answers a chat call."""

    async def digest(self, model: str) -> str:
        """What identifies the weights behind a model name exactly; empty where the server cannot say.

        Cheap when asked again: calls are recognised by it. Raises as `chat` does when the model is unknown.
        """
        ...

    async def chat(self, call: ChatCall) -> ChatReply:
        """The reply to one call, whole.

        With `json_schema` the server is held to the schema where it can be; with `json_mode` to JSON of any shape.
        The text is returned as the model gave it: parsing is the caller's. Raises LLMTimeoutError with
        `call.timeout_s`, LLMError when the server answers with an error (unknown model, bad request), and
        connection errors (ConnectionError, httpx.TransportError) as they are.
        """
        ...


class ReferenceSearch(Protocol):
    """The reference index, searched."""

    async def nearest(
        self,
        index_id: int,
        queries: Sequence[tuple[PHQ8Item, NDArray[np.float32]]],
        *,
        limit: int,
        exclude_participant: int,
        tagged_only: bool,
        score_source: ScoreSource,
    ) -> list[tuple[Reference, ...]]:
        """For each query, in order, the `limit` nearest chunks: similarity down, then participant, then ordinal.

        All queries travel in one round trip. With `tagged_only` a chunk counts only for the items it is tagged with;
        a chunk without tags counts for none. Scores are those of each chunk's participant for the query's item, or
        with `score_source` chunk those of the chunk itself; a score that is not there is None.
        Chunks of `exclude_participant` never come back, so that nobody is their own reference. No query gives an
        empty list. Raises EmbeddingDimensionMismatchError when a query has another dimension than the index, and
        ReferenceIndexMissingError when there is no such index.
        """
        ...


class ChunkSearch(Protocol):
    """The searchable chunks of corpora: those that have a vector."""

    async def dense(self, corpus_id: int, vectors: Vectors, *, limit: int) -> list[list[Hit]]:
        """For each row of `vectors`, in order, the `limit` nearest chunks: cosine down, ties by chunk id.

        All rows travel in one round trip. No row, or a limit of 0, gives empty lists without asking anyone. Raises
        EmbeddingDimensionMismatchError when the rows have another dimension than the corpus.
        """
        ...

    async def lexical(self, corpus_id: int, texts: Sequence[str], *, limit: int, scorer: str) -> list[list[Hit]]:
        """For each text, in order, the `limit` best chunks by full text: the scorer's score down, ties by chunk id.

        `scorer` is `bm25`, `websearch` or `cover_density`; another name is a ValueError. A chunk that the text does
        not match is no hit, so a list may be empty. All texts travel in one round trip. No text, or a limit of 0,
        gives empty lists without asking anyone.
        """
        ...

    async def lexical_scores(
        self, corpus_id: int, text: str, chunk_ids: Sequence[int], *, scorer: str
    ) -> dict[int, float]:
        """What `lexical` gives these chunks, however many others are better, by chunk id.

        Chunks that the text does not match are absent, and so are those of other corpora. No chunk gives an empty
        dictionary without asking anyone.
        """
        ...
