"""The ports of the stages, as Protocols. Adapters and the store implement them; tests pass small fakes.

Every implementation of a port passes the contract suite of that port in tests/contracts.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from schemas.values.chat import ChatCall, ChatReply, ModelIdentity
from schemas.values.participants import Neighbour, PHQ8Item, Reference
from schemas.values.queries import Hit
from schemas.values.tags import NearToken, Vocabulary

ScoreSource = Literal["participant", "chunk"]
"""The score of a reference: its participant's, or the chunk's own (Spec 35)."""

Vectors = NDArray[np.float32]
"""A matrix, one row per text."""


Terms = Callable[[Sequence[str]], Awaitable[list[dict[str, int]]]]
"""How often each text has each of its terms, as a full-text search reads them: without stop words, as stems."""

OnText = Callable[[str], None]
"""Is given each piece of a reply while it is written."""


class TextVectors(NamedTuple):
    """The vectors of texts, one row per text."""

    vectors: Vectors
    cut: tuple[int, ...] = ()
    """The positions, from 0, of the texts of which the model read only a part."""
    reused: int = 0
    """The texts whose vectors were stored before, and were not computed again."""


class TextEncoder(Protocol):
    """An embedding model in this process. Blocking; called from one thread at a time."""

    @property
    def name(self) -> str:
        """The model as settings name it."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the weights, or an equally exact identifier."""

    @property
    def dtype(self) -> str:
        """The number format that the model computes in, such as `float32`."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row per text, in order, in the model's native dimension, not normalised further than the model does.

        Texts beyond the model's token limit are cut. A row depends on its text alone but for rounding: two rows of one
        text lie at most 1e-5 of their length apart in float32, 2e-3 in float16, and 2e-2 in bfloat16.
        """

    def count_whole_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens per text before truncation."""

    @property
    def max_tokens(self) -> int | None:
        """The maximum tokens of a text that the model sees; None if it has no limit."""


class Embedder(Protocol):
    """Turns texts into vectors, in this process or on a server."""

    @property
    def name(self) -> str:
        """The model as settings name it."""

    async def digest(self) -> str:
        """An exact identifier of the weights; empty if the server reports none."""

    async def dtype(self) -> str:
        """The number format of the weights, such as `float32` or `Q4_1`; empty if the server reports none."""

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        """One row per text, in order, in the model's native dimension. One call, however many texts.

        Texts that are longer than the model reads are cut and named with `truncate`; without it TextTooLongError is
        raised for the first of them. Without texts the matrix has no rows, and no call is made. Raises LLMTimeoutError
        with `timeout_s` when the vectors do not arrive in time, EmbeddingValidationError when the number of rows is not
        the number of texts, and connection errors unchanged.
        """


class PairScorer(Protocol):
    """Scores how well each passage fits a query, reading both together: a cross-encoder."""

    @property
    def name(self) -> str:
        """The model as settings name it."""

    async def digest(self) -> str:
        """An exact identifier of the weights."""

    async def score_pairs(
        self, query: str, passages: Sequence[str], *, timeout_s: float, batch_size: int, max_tokens: int
    ) -> list[float]:
        """One raw logit per passage, in order; higher fits better, and there are no bounds.

        The model scores `batch_size` pairs at a time. A pair beyond `max_tokens`, or beyond the model's own limit, is
        truncated, the longer of the two texts first. The same call gives the same logits. Without passages the list is
        empty, and the model is not called. Raises LLMTimeoutError with `timeout_s` when the logits are not computed in
        time, after which no further batch runs, and DomainError when the model cannot score pairs or a logit is not a
        finite number.
        """


class Deferred(Exception):
    """The reply to a call comes later; its stage is computed again then. A stage makes its other calls first, where it
    will need them whatever the reply is."""


class ChatModel(Protocol):
    """Answers chat calls."""

    async def identity(self, model: str) -> ModelIdentity:
        """The server and the exact model behind a name, as the server reports them. Cheap when repeated: it is part of
        the identity of a call, and at most a minute old. Raises as `chat` does for an unknown model."""

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """The complete reply to one call.

        With `on_text` the server is asked to send the reply while it is written: each piece is handed over as it
        arrives, and together they are the text of the reply, which is the same as without. A server that sends no
        pieces, and a reply that is stored already, hand over nothing. An error may follow pieces.

        With `json_schema` the server enforces the schema if it can; with `json_mode`, JSON of any shape. The text is
        returned as the model wrote it; the caller parses it. The reply has the digest of the model's identity. Raises
        LLMTimeoutError with `call.timeout_s`, LLMError when the server answers with an error (unknown model, bad
        request), and connection errors (ConnectionError, httpx.TransportError) unchanged.
        """


class ReferenceSearch(Protocol):
    """Searches the reference index."""

    async def nearest(
        self,
        index_id: int,
        queries: Sequence[tuple[PHQ8Item, NDArray[np.float32]]],
        *,
        limit: int,
        exclude_participants: Collection[int],
        tagged_only: bool,
        score_source: ScoreSource,
    ) -> list[tuple[Reference, ...]]:
        """For each query, in order, the `limit` nearest chunks: similarity down, then participant, then ordinal.

        One round trip for all queries. With `tagged_only` a chunk counts only for the items it is tagged with; a chunk
        without tags counts for none. Scores are those of each chunk's participant for the query's item, or with
        `score_source` chunk those of the chunk itself; a missing score is None. Chunks of `exclude_participants`
        are never returned, so that nobody whom a run assesses is a reference in it. Without queries the list is empty.
        Raises EmbeddingDimensionMismatchError when a query has another dimension than the index, and
        EmbeddingArtifactMismatchError when there is no such index.
        """

    async def count_untagged(
        self, index_id: int, items: Sequence[PHQ8Item], *, exclude_participants: Collection[int]
    ) -> list[int]:
        """For each item, in order, the number of chunks that `tagged_only` leaves out of its search. Chunks of
        `exclude_participants` do not count. One round trip for all items."""


class EvidenceSearch(Protocol):
    """Searches the evidence of the participants of a reference index."""

    async def nearest_evidence(
        self,
        index_id: int,
        queries: Sequence[tuple[PHQ8Item, NDArray[np.float32]]],
        *,
        limit: int,
        exclude_participants: Collection[int],
    ) -> list[tuple[Neighbour, ...]]:
        """For each query, in order, the `limit` participants with the nearest evidence for its item: similarity down,
        then participant. One vector a participant and item.

        Participants without a score for the item do not count, and `exclude_participants` are never returned. Without
        queries the list is empty. Raises EmbeddingDimensionMismatchError when a query has another dimension than the
        index, and EmbeddingArtifactMismatchError when there is no such index.
        """

    async def item_scores(
        self, index_id: int, *, exclude_participants: Collection[int]
    ) -> dict[PHQ8Item, tuple[int, ...]]:
        """The scores of each item that the other participants of the index have."""


class ChunkSearch(Protocol):
    """Searches the chunks of corpora that have a vector.

    Several corpora are searched as if one had all of their chunks, with the same scores; their languages are read by
    one text search configuration. With `among` only these chunks are hits, with the scores that they have among all.
    """

    async def dense(
        self, corpora: Sequence[int], vectors: Vectors, *, limit: int, among: Sequence[int] | None = None
    ) -> list[list[Hit]]:
        """For each row of `vectors`, in order, the `limit` nearest chunks: cosine down, ties by chunk id. One round
        trip for all rows. Without rows, or with a limit of 0, the lists are empty, without a round trip. Raises
        EmbeddingDimensionMismatchError when the rows have another dimension than a corpus."""

    async def lexical(
        self,
        corpora: Sequence[int],
        texts: Sequence[str],
        *,
        limit: int,
        scorer: str,
        among: Sequence[int] | None = None,
    ) -> list[list[Hit]]:
        """For each text, in order, the `limit` best chunks by full text: the scorer's score down, ties by chunk id.

        `scorer` is `bm25` or `websearch`; another name raises ValueError. A chunk that the text does not match is not a
        hit, so a list may be empty. All texts are searched at once. Without texts, or with a limit
        of 0, the lists are empty, without a round trip.
        """


Vector = NDArray[np.float32]
"""One row of numbers."""


class TokenQuery(NamedTuple):
    """A lookup whose neighbours are searched."""

    token: str
    vector: Vector | None
    """Of the token model; None if that cannot embed it."""
    sentence: Vector | None = None
    """Of the sentence embedder. With it all sources count, without it the token model alone."""


LookUp = Callable[[Sequence[str]], Awaitable[Vocabulary]]
"""The part of a vocabulary that tokens name: the tags and the aliases among them, and the tags of those aliases, in one
round trip; without tokens there is none. Unknown tokens are absent. Raises DomainError without the vocabulary."""


NeighbourSearch = Callable[[Sequence[TokenQuery], int], list[tuple[NearToken, ...]]]
"""For each query, in order, so many nearest tokens of a vocabulary: similarity down, then by token. Blocking; may be
called from any thread.

Names of tags and aliases are both tokens; a token is not its own neighbour. Without sentence vectors similarity is the
raw cosine and may be negative; all queries have one, or none has. There is at least one query."""
