"""An embedding model behind `/v1/embeddings` of an OpenAI-compatible server such as vLLM, llama-server or TEI.

The API has no field that forbids cutting. Most servers refuse a text that is longer than the model reads; others cut
it and still answer 200. Before the first text that could be cut, a very long one shows which a server does: one that
answers it reads as many tokens as it reports, and a text of that many tokens counts as cut.
"""

import asyncio
import math
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple

import numpy as np
from pydantic import BaseModel, Field

from adapters.model_lists import matrix_of
from adapters.openai import OpenAIServer
from schemas.errors import EmbeddingValidationError, LLMError, LLMTimeoutError, TextTooLongError
from stages.ports import TextVectors

#: Texts of one request: as many as every server takes unless it is told otherwise.
TEXTS_PER_REQUEST: Final = 32
#: No model reads less than this, and no token is shorter than a byte: shorter texts are never cut.
SHORTEST_CONTEXT: Final = 128
PROBE_TOKENS: Final = 100_000
#: The start of a text that is kept is at most this part shorter than the longest one that the server takes.
PRECISION: Final = 1 / 8

_REFUSALS: Final = frozenset({400, 413, 422, 500})
_TOO_LONG: Final = re.compile(r"context|too (long|large)|exceed|maximum|must have less than", re.IGNORECASE)


class _Row(BaseModel):
    index: int
    embedding: list[float]


class _Usage(BaseModel):
    prompt_tokens: int | None = None


class _Embeddings(BaseModel):
    data: list[_Row]
    usage: _Usage = Field(default_factory=_Usage)


class _Embedded(NamedTuple):
    """The vectors of a request, in the order of its texts."""

    rows: list[list[float]]
    tokens: int | None
    """Of all texts together, as far as the server read them; None if it does not report it."""


class OpenAIEmbedder:
    """The port Embedder over a base URL that ends in the version, such as `http://127.0.0.1:8000/v1`."""

    def __init__(self, name: str, *, base_url: str, api_key: str | None = None) -> None:
        self._name = name
        self._server = OpenAIServer(base_url, "embeddings", api_key=api_key)
        self._is_probed = False
        self._cuts_at: int | None = None

    @property
    def name(self) -> str:
        """See Embedder."""
        return self._name

    async def digest(self) -> str:
        """See Embedder. A hash of the model's entry in the server's list of models; empty without a list."""
        found = await self._server.identity(self._name)
        return sha256(found.weights["listed"].encode()).hexdigest() if found.listed else ""

    async def dtype(self) -> str:
        """See Embedder. This API reports none."""
        return ""

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        """See Embedder. Raises LLMError when the server answers with an error; `timeout_s` holds for all requests."""
        if not texts:
            return TextVectors(np.zeros((0, 0), dtype=np.float32))
        try:
            async with asyncio.timeout(timeout_s):
                rows, cut = await self._embed(texts, truncate=truncate)
        except TimeoutError:
            raise LLMTimeoutError(timeout_s) from None
        return TextVectors(matrix_of(rows, model=self._name, texts=len(texts)), tuple(cut))

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()

    async def _embed(self, texts: Sequence[str], *, truncate: bool) -> tuple[list[list[float]], list[int]]:
        sizes = [len(text.encode(errors="replace")) for text in texts]
        if max(sizes) >= SHORTEST_CONTEXT:
            await self._probe()
        longest = math.inf if self._cuts_at is None else self._cuts_at
        together = [at for at, size in enumerate(sizes) if size < longest]
        # How much a server read of each of several texts it does not report, nor which of them is too long.
        alone = [at for at, size in enumerate(sizes) if size >= longest]
        rows: dict[int, list[float]] = {}
        for start in range(0, len(together), TEXTS_PER_REQUEST):
            group = together[start : start + TEXTS_PER_REQUEST]
            embedded = await self._whole([texts[at] for at in group])
            if embedded is None:
                alone += group
            else:
                rows.update(zip(group, embedded.rows, strict=True))
        cut: list[int] = []
        for at in sorted(alone):
            embedded = await self._whole([texts[at]])
            if embedded is None or (embedded.tokens or 0) >= longest:
                if not truncate:
                    raise TextTooLongError(self._name, at, texts=len(texts), chars=len(texts[at]))
                cut.append(at)
            rows[at] = (embedded or await self._start_of(texts[at])).rows[0]
        return [rows[at] for at in range(len(texts))], cut

    async def _whole(self, texts: Sequence[str]) -> _Embedded | None:
        """The vectors of texts; None if the server refuses one of them as too long."""
        try:
            return await self._ask(texts)
        except LLMError as error:
            if error.status in _REFUSALS and _TOO_LONG.search(error.detail):
                return None
            raise

    async def _start_of(self, text: str) -> _Embedded:
        """The vector of about the longest start that the server takes, which depends on nothing after it."""
        kept, found, step = 0, None, 1 << len(text).bit_length() - 1
        while step > kept * PRECISION:
            if kept + step < len(text) and (longer := await self._whole([text[: kept + step]])) is not None:
                kept, found = kept + step, longer
            step //= 2
        if found is None:
            raise self._server.failure(self._name, None, "It refuses a text of one character as too long.")
        return found

    async def _probe(self) -> None:
        """Find out once whether the server cuts long texts, and at how many tokens."""
        if self._is_probed:
            return
        try:
            tokens = (await self._ask(["a " * PROBE_TOKENS])).tokens
        except LLMError as error:
            if error.status not in _REFUSALS:
                raise
        else:
            if not tokens:
                raise LLMError(
                    f"{self._server.url} takes a text of {PROBE_TOKENS} words for model '{self._name}' and does not "
                    "report how many tokens it read, so a text that it cut would go unnoticed. Start the server so "
                    "that it refuses long texts (text-embeddings-inference: --auto-truncate false)."
                )
            self._cuts_at = tokens if tokens < PROBE_TOKENS else None
        self._is_probed = True

    async def _ask(self, texts: Sequence[str]) -> _Embedded:
        body = {"model": self._name, "input": list(texts), "encoding_format": "float"}
        async with self._server.asking(self._name, body) as response:
            content = await response.aread()
        reply = self._server.parsed(_Embeddings, self._name, content, expected="embeddings")
        ordered = sorted(reply.data, key=lambda row: row.index)
        if [row.index for row in ordered] != list(range(len(texts))):
            raise EmbeddingValidationError(
                f"{self._name} returned {len(ordered)} vectors for {len(texts)} texts, or not one for each."
            )
        return _Embedded([row.embedding for row in ordered], reply.usage.prompt_tokens)
