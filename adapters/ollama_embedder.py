"""An embedding model behind Ollama's embed API."""

from collections.abc import Sequence

import numpy as np

from adapters.ollama_server import OllamaServer
from schemas.errors import EmbeddingValidationError
from stages.ports import Vectors


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

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float) -> Vectors:
        """See Embedder. Raises LLMError when the server answers with an error."""
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        async with self._server.asking(self._name, timeout_s=timeout_s):
            rows = (await self._server.client.embed(model=self._name, input=list(texts))).embeddings
        if len(rows) != len(texts):
            raise EmbeddingValidationError(f"{self._name} returned {len(rows)} vectors for {len(texts)} texts.")
        if len({len(row) for row in rows}) != 1:
            raise EmbeddingValidationError(f"{self._name} returned vectors of different dimensions.")
        return np.asarray(rows, dtype=np.float32)

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()
