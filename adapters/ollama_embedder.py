"""An embedding model behind Ollama's embed API.

By default, Ollama cuts a text that is longer than the context and still answers 200. So each text is first sent with
`truncate: false`, with which the server refuses it.
"""

from collections.abc import Sequence

import numpy as np
import ollama

from adapters.ollama_server import OllamaServer, is_too_long
from adapters.vector_rows import matrix_of
from schemas.errors import TextTooLongError
from stages.ports import TextVectors


class OllamaEmbedder:
    """The port Embedder over an Ollama server at a URL such as `http://127.0.0.1:11434`."""

    def __init__(self, name: str, *, url: str) -> None:
        self._name = name
        self._server = OllamaServer(url)

    @property
    def name(self) -> str:
        """See Embedder."""
        return self._name

    async def digest(self) -> str:
        """See Embedder. Requested once, then cached. Raises LLMError when the server has no such model."""
        return (await self._server.model(self._name)).digest

    async def dtype(self) -> str:
        """See Embedder. Raises LLMError when the server has no such model."""
        return (await self._server.model(self._name)).identity.quantization or ""

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        """See Embedder. Raises LLMError when the server answers with an error.

        A server does not report which of several texts is too long: then each has a request of its own.
        """
        if not texts:
            return TextVectors(np.zeros((0, 0), dtype=np.float32))
        cut: list[int] = []
        async with self._server.asking(self._name, timeout_s=timeout_s):
            rows = await self._whole(texts)
            if rows is None:
                rows = []
                for position, text in enumerate(texts):
                    whole = await self._whole([text])
                    if whole is None:
                        if not truncate:
                            raise TextTooLongError(self._name, position, texts=len(texts), chars=len(text))
                        cut.append(position)
                        whole = await self._rows([text], truncate=True)
                    rows += whole
        return TextVectors(matrix_of(rows, model=self._name, texts=len(texts)), tuple(cut))

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()

    async def _whole(self, texts: Sequence[str]) -> list[Sequence[float]] | None:
        """The vectors of whole texts; None if one of them is too long."""
        try:
            return await self._rows(texts, truncate=False)
        except ollama.ResponseError as error:
            if not is_too_long(error):
                raise
            return None

    async def _rows(self, texts: Sequence[str], *, truncate: bool) -> list[Sequence[float]]:
        reply = await self._server.client.embed(model=self._name, input=list(texts), truncate=truncate)
        return list(reply.embeddings)
